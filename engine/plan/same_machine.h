#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"

namespace sparkplan {

/// The unique marks of one machine, for one node of the file. An empty mark was not seen, or does not exist. Only the
/// host key is proved; the node reports the other marks itself.
struct MachineIdentity {
  std::string machine_id;                ///< /etc/machine-id; "uninitialized" in an image that was never booted.
  std::string host_key;                  ///< "SHA256:...", as seen by the connection.
  std::string nvme_host;                 ///< /etc/nvme/hostnqn
  std::string recorded_machine_id = {};  ///< The machine-id in the roster for the machine with that host key.
};

/// True for a mark that one machine has: not empty, and not the "uninitialized" of an image that was never booted.
/// Source: machine-id(5), "First Boot Semantics".
bool tells_apart(const std::string& mark);

/// Nodes that cannot all belong to one cluster.
struct SameMachines {
  /// "nodes.same-machine": one for each pair, at the later entry. An error if both are refused, a warning if one or
  /// both continue.
  std::vector<Diagnostic> findings;
  std::map<std::string, Error> by_node;  ///< The refused nodes -> why no change is made there.
};

/// Pure. Finds nodes that are one machine under two names, and machines that are copies of each other. They would undo
/// each other's changes and could log in as each other, and a storage target would treat them as one.
/// Two nodes with the same host key are both refused. A mark that a node merely reports is no reason to refuse another
/// node. The node that had the mark before continues. So does a node whose record does not contradict the mark. If no
/// record shows which of two new nodes is the copy, both are refused. `identities` by the node's name in the file.
SameMachines same_machines(const Cluster& cluster, const std::map<std::string, MachineIdentity>& identities);

}  // namespace sparkplan
