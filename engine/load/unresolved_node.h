#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"
#include "engine/load/findings.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// A node before it becomes a NodeSpec. Invalid values are left out, so that each check can go on.
struct UnresolvedNode {
  const Value* record = nullptr;  ///< As written; a map.
  std::size_t index = 0;          ///< Its place in the file's list, for JSON pointers.
  std::string name;
  SourceRange name_where;  ///< The name's place; the record's if it has no name.
  int id = 0;              ///< 0: neither given nor in the name.
  SourceRange id_where;    ///< Place of the id, or of the name that it comes from.
  std::string address;
  SourceRange address_where;
  TransportKind transport = TransportKind::kSsh;
  Value ssh;                              ///< The node's settings over the cluster's; a map.
  std::map<std::string, Value> sections;  ///< Merged, without nulls except in `nccl`.
  std::vector<FabricPort> fabric;
};

/// A whole file before it becomes a Cluster.
struct UnresolvedCluster {
  const Value* root = nullptr;
  const Registry* registry = nullptr;
  std::string profile;
  SourceRange profile_where;
  std::vector<UnresolvedNode> nodes;
};

/// The number at the end of a node's name, or of the first label if it has dots; 0 without a valid id.
int id_from_name(std::string_view name);

/// Merges profile, cluster and nodes. `root` and `registry` must outlive the result.
UnresolvedCluster unresolved_cluster(const Value& root, const Registry& registry);

/// Converts the nodes to NodeSpecs. Only for files without errors.
std::vector<NodeSpec> finish_nodes(UnresolvedCluster draft);

}  // namespace sparkplan
