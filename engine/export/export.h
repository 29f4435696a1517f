#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// The formats of export_cluster(), in the order of the manual.
std::vector<std::string> export_formats();

/// The text for the other tool, and remarks for the user: values that the file alone does not give.
struct ExportedText {
  std::string text;
  std::vector<std::string> remarks = {};
};

/// The way to a node's SSH server, after the user's own configuration has completed cluster.yaml: there an address may
/// be an alias.
struct SshTarget {
  std::string address;
  std::string user;  ///< Empty: neither file names one.
  std::uint16_t port = 22;
  std::vector<std::string> identities;
  bool only_identities = false;
  std::vector<SshTarget> jumps;  ///< The jump hosts in their order. Their own `jumps` are empty.
  std::string host_key_alias;
  std::vector<std::string> known_hosts;  ///< Files in place of the usual ones; empty: the usual ones.
  std::string name = {};                 ///< Of a jump host: as ProxyJump or cluster.yaml names it.
};
/// Node -> its target.
using SshTargets = std::map<std::string, SshTarget>;

/// Pure. The cluster in the format of another tool, made from its file alone: no node is contacted. Nodes with
/// transport local are not hosts, and are left out. `selects` leaves out others; the size of the job and the address of
/// its first node are still those of the whole cluster. `targets` replace the addresses and logins of cluster.yaml.
/// Errors: kInvalidInput for an unknown format or when no node is left. Also for a setting with control or invisible
/// characters, which the other tool might read differently.
Result<ExportedText> export_cluster(const Cluster& cluster, std::string_view format, const Registry& registry,
                                    const std::function<bool(const NodeSpec&)>& selects = {},
                                    const SshTargets& targets = {});

}  // namespace sparkplan
