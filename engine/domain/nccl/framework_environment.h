#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"
#include "engine/model/cluster.h"
#include "engine/model/facts.h"

/// The variables of programs beside NCCL that start jobs: `nccl: {frameworks: [...]}`. Everything here is pure.
namespace sparkplan {

inline constexpr const char* kFrameworks = "frameworks";

/// The names that the key takes: torch, mpi, ucx, vllm.
const std::vector<std::string>& framework_names();

/// The frameworks that a section `nccl` asks for; all of them without the key.
std::vector<std::string> frameworks_in(const Value& nccl);

/// A variable of a framework.
struct FrameworkVariable {
  std::string_view name;
  std::string_view framework;
  /// Its value is the node's own: a launcher that copies it from one node to another breaks the job there.
  bool differs = true;
};
const std::vector<FrameworkVariable>& framework_variables();
/// Null for other names.
const FrameworkVariable* find_framework_variable(std::string_view name);

/// The variables that the fabric implies for one node, of the frameworks in its section `nccl`. Empty without that
/// section or without a fabric. A value that is unknown is left out: an interface that only the facts name, or an
/// address. Names that the node's `nccl: env` or `profile_env` has are left out too: the user's value counts, and null
/// drops the variable. `facts` of a node that was not asked: `live` is false.
std::map<std::string, std::string> framework_environment(const Cluster& cluster, const NodeSpec& node,
                                                         const Facts& facts);

/// As above, for another body of the node's section `nccl`.
std::map<std::string, std::string> framework_environment(const Cluster& cluster, const NodeSpec& node,
                                                         const Facts& facts, const Value& nccl);

}  // namespace sparkplan
