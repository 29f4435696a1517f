// ClusterRun: what has to work after a change as it did before.
#include <algorithm>
#include <map>
#include <utility>

#include "engine/fleet/cluster_run.h"
#include "engine/fleet/run_identity.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kPatienceBefore = 500;
/// A neighbour's renderer and the address resolution need a moment.
constexpr std::int64_t kPatienceAfter = 5'000;
constexpr std::int64_t kSmallPacket = 84;

/// "192.168.100.11/24" -> the link that has that address.
const LinkFacts* link_with(const Facts& facts, const std::string& address) {
  for (const LinkFacts& link : facts.links) {
    for (const std::string& one : link.addresses) {
      if (one.substr(0, one.find('/')) == address) return &link;
    }
  }
  return nullptr;
}

bool share_a_network(const FabricPort& one, const FabricPort& other) {
  return one.prefix_length == other.prefix_length && in_one_network(one.address, other.address, one.prefix_length);
}

}  // namespace

/// Pairs of fabric addresses that both ends have now, are still to have, and that reach each other now.
void ClusterRun::choose_probes(NodeRun& node) {
  // Whoever leaves is not expected to have a fabric afterwards, and what a rollback goes back to is not what the
  // file says of it.
  if (node.leaving || rolls_back_) return;
  std::vector<ProbeTarget> targets;
  for (const FabricPort& own : node.spec->fabric) {
    if (link_with(node.known.facts, own.address) == nullptr) continue;
    for (const auto& peer : nodes_) {
      if (&peer == &node || !active(peer) || peer.leaving) continue;
      for (const FabricPort& other : peer.spec->fabric) {
        if (!share_a_network(own, other) || link_with(peer.known.facts, other.address) == nullptr) continue;
        targets.push_back({other.address, "", kSmallPacket, 0});
      }
    }
  }
  if (targets.empty()) return;
  const auto reply = node.client->call(ProbeRequest{targets, kPatienceBefore});
  if (!reply) return;  // The trial, which comes next, says what is wrong with the connection.
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (reply->answered[i]) node.trial.worked_before.push_back(targets[i]);
  }
}

/// What got through before has to get through now, also as large as the new MTU lets it be.
void ClusterRun::probe_again(NodeRun& node) {
  auto targets = node.trial.worked_before;
  if (targets.empty()) return;
  std::map<std::string, std::int64_t> largest;  // By address: what both ends can carry, as they are now.
  for (const auto& peer : nodes_) {
    if (&peer == &node || peer.error) continue;
    for (const FabricPort& other : peer.spec->fabric) {
      const LinkFacts* there = link_with(peer.known.facts, other.address);
      for (const FabricPort& own : node.spec->fabric) {
        const LinkFacts* here = link_with(node.known.facts, own.address);
        if (there == nullptr || here == nullptr || !share_a_network(own, other)) continue;
        largest[other.address] = std::min(there->mtu, here->mtu);
      }
    }
  }
  for (const auto& target : node.trial.worked_before) {
    const auto size = largest.find(target.address);
    if (size != largest.end()) targets.push_back({target.address, "", size->second, 0});
  }
  tell(node, "probing its neighbours");
  const auto reply = node.client->call(ProbeRequest{targets, kPatienceAfter});
  if (!reply) {
    node.trial.why_not = "its neighbours could not be probed: " + reply.error().describe();
    return;
  }
  for (std::size_t i = 0; i < targets.size() && node.trial.why_not.empty(); ++i) {
    if (reply->answered[i]) continue;
    const bool small = targets[i].bytes == kSmallPacket;
    node.trial.why_not = small ? "it does not get through to " + targets[i].address + " any more"
                               : "packets of " + std::to_string(targets[i].bytes) + " bytes do not get through to " +
                                     targets[i].address + ": something on the way has a smaller MTU";
  }
}

/// Does another node get an SSH server's greeting at this node's address?
bool ClusterRun::neighbour_reaches(const NodeRun& node) {
  for (auto& other : nodes_) {
    if (&other == &node || !active(other) || !other.client || !other.known.facts.live) continue;
    if (other.trial.state == TrialRun::State::kCarriedOut) continue;
    const auto reply =
        other.client->call(ProbeRequest{{{node.spec->address, "", 0, node.spec->ssh.port}}, kPatienceAfter});
    if (reply && reply->answered.front()) return true;
  }
  return false;
}

/// A machine always reaches itself. Of the one we run on, somebody else has to say that it answers.
void ClusterRun::ask_a_neighbour(NodeRun& node) {
  if (!is_this_machine(node.known.facts.machine_id) || !ipv4_number(node.spec->address)) return;
  const bool alone = std::none_of(nodes_.begin(), nodes_.end(), [&](const NodeRun& other) {
    return &other != &node && active(other) && other.known.facts.live;
  });
  if (alone) return;
  if (!neighbour_reaches(node)) node.trial.why_not = "no other node reaches it at " + node.spec->address + " any more";
}

}  // namespace sparkplan
