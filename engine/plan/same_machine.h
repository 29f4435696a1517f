#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// What no two machines have in common, of one node of the file. What is empty was not seen, or is not there.
struct MachineIdentity {
  std::string machine_id;  ///< /etc/machine-id; "uninitialized" in an image that was never booted.
  std::string host_key;    ///< "SHA256:...", as the connection has met it.
  std::string nvme_host;   ///< /etc/nvme/hostnqn
};

/// Nodes of which a cluster cannot consist.
struct SameMachines {
  std::vector<Diagnostic> findings;      ///< "nodes.same-machine": one for each pair, at the entry further down.
  std::map<std::string, Error> by_node;  ///< Of each node concerned, why nothing is to be done there.
};

/// Pure. Nodes that are one machine under two names, or machines of which one is a copy of the other: they
/// would undo each other's changes, log in to each other as one, and a storage target would take them for one.
/// `identities` by the node's name in the file.
SameMachines same_machines(const Cluster& cluster, const std::map<std::string, MachineIdentity>& identities);

}  // namespace sparkplan
