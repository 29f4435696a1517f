#pragma once

#include <map>
#include <string>

#include "engine/model/cluster.h"
#include "engine/model/facts.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The variables and the library of NCCL on a node. They are compiled from the node's section `nccl`, and an apply
/// writes the same values to its files.
struct NcclEnvironment {
  std::map<std::string, std::string> variables;
  std::string library;  ///< The file that `nccl: library` names; empty: none.
};

/// Pure.
NcclEnvironment nccl_environment(const Cluster& cluster, const NodeSpec& node, const Facts& facts,
                                 const Registry& registry);

}  // namespace sparkplan
