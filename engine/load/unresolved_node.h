#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"
#include "engine/load/findings.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The most memory of the merged sections of all nodes, with the texts of the files that they name. A shared section
/// counts for each node, because each node has a copy. 64 nodes may each have all files that one cluster.yaml can name.
inline constexpr std::size_t kMostMergedBytes = std::size_t{96} << 20;

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
  std::size_t merged_bytes = 0;  ///< Of all nodes, as memory_of() counts.

  bool is_too_large() const { return merged_bytes > kMostMergedBytes; }
};

/// The number at the end of a node's name, or of the first label if it has dots; 0 without a valid id.
int id_from_name(std::string_view name);

/// Merges profile, cluster and nodes. `root` and `registry` must outlive the result. Above kMostMergedBytes, merging
/// ends with one finding at the section that was too much; the result is then incomplete.
UnresolvedCluster unresolved_cluster(const Value& root, const Registry& registry, Findings& findings);

/// "larger than 96 MiB": for the findings of a cluster that is too large.
std::string too_large_when_merged();

/// Converts the nodes to NodeSpecs. Only for files without errors.
std::vector<NodeSpec> finish_nodes(UnresolvedCluster draft);

}  // namespace sparkplan
