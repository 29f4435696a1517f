// TrialRun: connections that have to work after a change as before it.
#include <algorithm>
#include <cstddef>
#include <map>
#include <set>

#include "engine/fleet/apply/trial_run.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kPatienceBefore = 500;
/// A neighbour's renderer and the address resolution need time.
constexpr std::int64_t kPatienceAfter = 5'000;
constexpr std::int64_t kSmallPacket = 84;
/// The neighbours that probe the controller's machine first. Four times as many follow while none reaches it.
constexpr std::size_t kFirstAsked = 4;

/// The link with that address: "192.168.100.11" finds "192.168.100.11/24".
const LinkFacts* link_with(const Facts& facts, const std::string& address) {
  for (const LinkFacts& link : facts.links) {
    for (const std::string& one : link.addresses) {
      if (one.substr(0, one.find('/')) == address) return &link;
    }
  }
  return nullptr;
}

}  // namespace

std::vector<TrialRun::FabricEnd> TrialRun::fabric_ends() const {
  std::vector<FabricEnd> ends;
  for (const FleetNode& node : session_.nodes()) {
    if (!node.active() || node.leaving) continue;
    for (const FabricPort& port : node.spec->fabric) {
      if (const auto* link = link_with(node.known.facts, port.address)) ends.push_back({node.place, &port, link->mtu});
    }
  }
  return ends;
}

/// Pairs of fabric addresses that both ends have now and keep, and that reach each other now.
void TrialRun::choose_probes(TrialNode& one, const std::vector<FabricEnd>& ends) {
  // A departing node loses its fabric addresses. A rollback restores a state that the file does not describe.
  if (one.node.leaving || planning_.rolls_back()) return;
  std::vector<ProbeTarget> targets;
  for (const FabricEnd& own : ends) {
    if (own.place != one.node.place) continue;
    for (const FabricEnd& other : ends) {
      if (other.place == own.place || !share_network(*own.port, *other.port)) continue;
      targets.push_back({other.port->address, "", kSmallPacket, 0});
    }
  }
  if (targets.empty()) return;
  const auto reply = one.node.client->call(ProbeRequest{targets, kPatienceBefore});
  if (!reply) return;  // The steps are sent next, and report a broken connection.
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (reply->answered[i]) one.trial.worked_before.push_back(targets[i]);
  }
}

/// Addresses that answered before have to answer now, also to packets as large as the new MTU allows.
void TrialRun::probe_again(TrialNode& one, const std::vector<FabricEnd>& ends) {
  FleetNode& node = one.node;
  Trial& trial = one.trial;
  auto targets = trial.worked_before;
  if (targets.empty()) return;
  std::map<std::string, std::int64_t> largest;  // By address: the largest packet that both ends support now.
  for (const FabricEnd& there : ends) {
    for (const FabricEnd& here : ends) {
      if (here.place != node.place || there.place == node.place || !share_network(*here.port, *there.port)) continue;
      largest[there.port->address] = std::min(there.mtu, here.mtu);
    }
  }
  for (const auto& target : trial.worked_before) {
    const auto size = largest.find(target.address);
    if (size != largest.end()) targets.push_back({target.address, "", size->second, 0});
  }
  session_.show(node, "probing its neighbours");
  const auto reply = node.client->call(ProbeRequest{targets, kPatienceAfter});
  if (!reply) {
    trial.why_not = "its neighbours could not be probed: " + reply.error().describe();
    return;
  }
  for (std::size_t i = 0; i < targets.size() && trial.why_not.empty(); ++i) {
    if (reply->answered[i]) continue;
    const bool small = targets[i].bytes == kSmallPacket;
    trial.why_not = small ? "it no longer reaches " + targets[i].address
                          : "packets of " + std::to_string(targets[i].bytes) + " bytes do not reach " +
                                targets[i].address + ": a device on the path has a smaller MTU";
  }
}

/// The other nodes that may be asked for a probe; their places.
std::vector<std::size_t> TrialRun::neighbours_of(const FleetNode& node) const {
  std::vector<std::size_t> places;
  for (const TrialNode& other : nodes_) {
    if (&other.node != &node && other.node.active() && other.node.known.facts.live) places.push_back(other.node.place);
  }
  return places;
}

/// True if one of the neighbours receives an SSH server's greeting at this node's address. Each neighbour asks in its
/// own thread, because only that thread may use or close its connection. A few begin: a thousand at once would look
/// like an attack to the SSH server.
bool TrialRun::reaches(const std::vector<std::size_t>& neighbours, const FleetNode& node) {
  const ProbeRequest request{{{node.spec->address, "", 0, node.spec->ssh.port}}, kPatienceAfter};
  std::vector<char> reached(nodes_.size(), 0);  // Not of bool: each thread writes its own element.
  std::size_t begin = 0;
  for (std::size_t count = kFirstAsked; begin < neighbours.size(); count *= 4) {
    const auto end = std::min(begin + count, neighbours.size());
    const std::set<std::size_t> asked(neighbours.begin() + static_cast<std::ptrdiff_t>(begin),
                                      neighbours.begin() + static_cast<std::ptrdiff_t>(end));
    on_each([&](TrialNode& other) {
      const bool may_be_cut_off = other.trial.state == Trial::State::kCarriedOut;
      if (!asked.contains(other.node.place) || may_be_cut_off || !other.node.client) return;
      const auto reply = other.node.client->call(request);
      reached[other.node.place] = reply && reply->answered.front() ? 1 : 0;
    });
    if (std::find(reached.begin(), reached.end(), 1) != reached.end()) return true;
    begin = end;
  }
  return false;
}

/// The controller's own machine always reaches itself, so another node has to reach it.
void TrialRun::ask_neighbours(const Names& names) {
  for (TrialNode& one : nodes_) {
    const FleetNode& node = one.node;
    const bool on_trial = names.contains(node.name()) && one.trial.state == Trial::State::kShown && node.active();
    if (!on_trial || !options_.is_own_machine(node.known.facts.machine_id) || !ipv4_number(node.spec->address))
      continue;
    const auto neighbours = neighbours_of(node);
    if (neighbours.empty() || reaches(neighbours, node)) continue;
    one.trial.why_not = "no other node reaches it at " + node.spec->address + " any more";
  }
}

}  // namespace sparkplan
