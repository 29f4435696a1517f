#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/value.h"
#include "engine/load/findings.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The sections that a node may override. Cluster-wide ones ("verify") are not in it.
inline constexpr std::array<std::string_view, 13> kNodeSections = {
    "fabric", "nccl",    "sysctl",   "limits", "units",    "profile_env",   "ssh_trust",
    "hosts",  "storage", "packages", "files",  "firewall", "kernel_modules"};

/// A node on its way from the file to a NodeSpec. Everything that the file gets wrong is simply
/// missing, so that each check can go on with what there is.
struct UnresolvedNode {
  const Value* record = nullptr;  ///< As written; a map.
  std::size_t index = 0;          ///< Its place in the file's list, for JSON pointers.
  std::string name;
  SourceRange name_where;  ///< The name's place, or the record's when it has none.
  int id = 0;              ///< 0: neither given nor in the name.
  SourceRange id_where;    ///< Of the id, or of the name that it comes from.
  std::string address;
  SourceRange address_where;
  TransportKind transport = TransportKind::kSsh;
  Value ssh;                              ///< Node over cluster, a map.
  std::map<std::string, Value> sections;  ///< Merged, without nulls.
  std::vector<FabricPort> fabric;
};

/// A whole file on its way to a Cluster.
struct UnresolvedCluster {
  const Value* root = nullptr;
  std::string profile;
  SourceRange profile_where;
  std::vector<UnresolvedNode> nodes;
};

/// The number that a node's name ends in, of a dotted name its first label; 0 when there is none.
int id_from_name(std::string_view name);

/// Profile, cluster and nodes merged. `root` must outlive the draft.
UnresolvedCluster unresolved_cluster(const Value& root, const Registry& registry);

/// The draft as what the rest of the program works with. Only for drafts without errors.
std::vector<NodeSpec> finish_nodes(UnresolvedCluster draft);

}  // namespace sparkplan
