#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// What no two machines have in common, of one node of the file. What is empty was not seen, or is not there. Only the
/// host key is proved; the rest is what the node reports of itself.
struct MachineIdentity {
  std::string machine_id;                ///< /etc/machine-id; "uninitialized" in an image that was never booted.
  std::string host_key;                  ///< "SHA256:...", as the connection has met it.
  std::string nvme_host;                 ///< /etc/nvme/hostnqn
  std::string recorded_machine_id = {};  ///< Which machine-id the roster has for the machine of that host key.
};

/// Nodes of which a cluster cannot consist.
struct SameMachines {
  /// "nodes.same-machine": one for each pair, at the entry further down. An error where both are refused, a warning
  /// where one of them goes on, or both.
  std::vector<Diagnostic> findings;
  std::map<std::string, Error> by_node;  ///< Of each node concerned, why nothing is to be done there.
};

/// Pure. Nodes that are one machine under two names, or machines of which one is a copy of the other: they
/// would undo each other's changes, log in to each other as one, and a storage target would take them for one. Two
/// nodes of one host key are both refused. A mark that a node merely reports is no reason to refuse the other one: the
/// node that had it before goes on, and so does one whose record the claim does not contradict. Where nothing tells
/// which of two new nodes is the copy, both are refused. `identities` by the node's name in the file.
SameMachines same_machines(const Cluster& cluster, const std::map<std::string, MachineIdentity>& identities);

}  // namespace sparkplan
