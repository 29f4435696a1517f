#pragma once

#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/load/findings.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The result of a schema check.
struct SchemaOutcome {
  bool valid = false;
  /// JSON pointers of the invalid values, sorted: "/nodes/3/sysctl/vm.swappiness". Empty if valid.
  /// A misspelt key counts for the absent key that it probably means, too: "/nodes/3/address" for "adress".
  std::vector<std::string> broken;

  /// True if the value at `pointer`, or any value in it, is invalid.
  bool is_broken(std::string_view pointer) const;
};

/// Checks a whole cluster.yaml against cluster_schema(registry). A JSON Schema validator decides whether it is valid;
/// it sees the beginning of a long text, so describe_schema_errors() decides about documents that have one. An invalid
/// document adds at least one error to `findings`.
SchemaOutcome check_schema(const Value& root, const Registry& registry, Findings& findings);

}  // namespace sparkplan
