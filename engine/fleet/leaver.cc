#include "engine/fleet/leaver.h"

#include <utility>

namespace sparkplan {

Result<NodeSpec> spec_of_leaver(const RosterEntry& entry, const Cluster& cluster) {
  SPARK_TRY(auto name, NodeName::parse(entry.name));
  NodeSpec spec{std::move(name), entry.id, entry.address, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
  if (!cluster.nodes.empty()) spec.ssh.identity = cluster.nodes.front().ssh.identity;
  spec.ssh.user = entry.user;
  spec.ssh.port = entry.port;
  spec.ssh.host_key = entry.host_key;
  spec.ssh.jump = entry.jump;
  spec.ssh.become = entry.become == "sudo" ? Become::kSudo : Become::kNone;
  if (!entry.root.empty()) {
    spec.transport = TransportKind::kLocal;
    spec.root = entry.root;
  }
  return spec;
}

}  // namespace sparkplan
