#pragma once

#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/load/findings.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// What the schema said of a document.
struct SchemaOutcome {
  bool valid = false;
  /// JSON pointers of the values that broke a rule, sorted: "/nodes/3/sysctl/vm.swappiness". Empty when valid.
  std::vector<std::string> broken;

  /// True when the value at `pointer`, or anything in it, broke a rule.
  bool is_broken(std::string_view pointer) const;
};

/// Checks a whole cluster.yaml against cluster_schema(registry). Whether it is valid is decided by a
/// JSON Schema validator; an invalid document always leaves at least one error in `findings`.
SchemaOutcome check_schema(const Value& root, const Registry& registry, Findings& findings);

}  // namespace sparkplan
