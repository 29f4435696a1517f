// Whether the nodes' packet filters accept the traffic of the fabric.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/doctor/examinations.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

std::optional<Ipv4Network> network_of(const ObservedPort& half) {
  if (const auto own = parse_ipv4(half.address)) return Ipv4Interface{*own, half.prefix_length}.network();
  return half.link_local ? std::optional(Ipv4Network{{(169U << 24) | (254U << 16)}, 16}) : std::nullopt;
}

Ipv4Network source_of(const InputVerdictFacts& verdict) {
  return parse_ipv4_network(verdict.from).value_or(Ipv4Network{});
}

/// The first verdict on a part of the half's incoming traffic; null: all of it is accepted.
const InputVerdictFacts* verdict_on(const InputChainFacts& chain, const std::string& interface,
                                    const Ipv4Network& network) {
  for (const InputVerdictFacts& one : chain.verdicts) {
    const bool fits = one.to.empty() && (one.interface.empty() || glob_match(one.interface, interface));
    if (fits && source_of(one).overlaps(network)) return &one;
  }
  return nullptr;
}

/// The first verdict on packets from one interface to another, whatever their source; null: they are accepted.
const InputVerdictFacts* verdict_between(const InputChainFacts& chain, const std::string& in, const std::string& out) {
  for (const InputVerdictFacts& one : chain.verdicts) {
    const bool fits =
        (one.interface.empty() || glob_match(one.interface, in)) && (one.to.empty() || glob_match(one.to, out));
    if (fits) return &one;
  }
  return nullptr;
}

/// Interfaces of a node, in and out, over which another node reaches others.
using Passages = std::set<std::pair<std::string, std::string>>;

/// Replies take the same way back.
void add_both_ways(const ObservedPort& one, const ObservedPort& other, Passages& passages) {
  if (one.interface.empty() || other.interface.empty() || one.interface == other.interface) return;
  passages.emplace(one.interface, other.interface);
  passages.emplace(other.interface, one.interface);
}

/// The passages that the routes of other nodes need on `node`: their gateway is an address of its fabric. `users` gets
/// the names of these nodes.
Passages passages_of(const ExaminedCluster& cluster, const ExaminedNode& node, std::vector<std::string>& users) {
  Passages passages;
  for (const ExaminedNode& other : cluster.nodes) {
    if (other.name == node.name) continue;
    for (const RouteFacts& route : other.facts->host.routes) {
      const auto in = std::find_if(node.halves.begin(), node.halves.end(), [&](const ObservedPort& half) {
        return !half.address.empty() && half.address == route.gateway;
      });
      if (in == node.halves.end()) continue;
      if (users.empty() || users.back() != other.name) users.push_back(other.name);
      const auto destination = parse_ipv4_network(route.destination);
      const auto leads_there = [&](const ObservedPort& half) {
        const auto network = network_of(half);
        return destination && network && network->overlaps(*destination);
      };
      const bool named = std::any_of(node.halves.begin(), node.halves.end(), leads_there);
      for (const ObservedPort& half : node.halves) {
        if (!named || leads_there(half)) add_both_ways(*in, half, passages);
      }
    }
  }
  return passages;
}

}  // namespace

Verdict forward_drops(const ExaminedCluster& cluster, const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  std::vector<std::string> users;
  const Passages passages = passages_of(cluster, node, users);
  if (passages.empty()) return pass("no other node has a route through it");
  // A node may claim any route: the user has to know whose it is before this node forwards anything.
  const std::string reported =
      fold_names(users) + (users.size() == 1 ? " reports" : " report") + " routes through this node; ";
  const auto forwarding = extended.sysctl.find("net.ipv4.ip_forward");
  if (forwarding != extended.sysctl.end() && forwarding->second == "0")
    return fail(reported + "net.ipv4.ip_forward is 0");
  if (!extended.firewall) return pass("there is no firewall");
  Complaints dropped;
  Complaints unclear;
  for (const InputChainFacts& chain : extended.firewall->forward_chains) {
    for (const auto& [in, out] : passages) {
      const auto* verdict = verdict_between(chain, in, out);
      if (verdict == nullptr || (verdict->verdict == "accept" && verdict->from.empty())) continue;
      const bool drops = verdict->verdict == "drop" && verdict->from.empty();
      (drops ? dropped : unclear)
          .add(chain.name + " (" + verdict->rule + ") " + (drops ? "drops" : "may drop") + " packets from " + in +
               " to " + out);
    }
  }
  auto verdict = dropped.any() ? dropped.as(CheckStatus::kFail) : unclear.as(CheckStatus::kSkip);
  if (dropped.any() || unclear.any()) verdict.seen = reported + verdict.seen;
  return verdict;
}

Verdict firewall_drops(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  if (!extended.firewall) return skip("there is no firewall");
  Complaints dropped;
  Complaints unclear;
  for (const InputChainFacts& chain : extended.firewall->input_chains) {
    for (const ObservedPort& half : node.halves) {
      const auto network = network_of(half);
      const auto* verdict = network && !half.interface.empty() ? verdict_on(chain, half.interface, *network) : nullptr;
      if (verdict == nullptr) continue;
      const bool whole = source_of(*verdict).contains(*network);
      if (whole && verdict->verdict == "accept") continue;
      const bool drops = whole && verdict->verdict == "drop";
      (drops ? dropped : unclear)
          .add(chain.name + " (" + verdict->rule + ") " + (drops ? "drops" : "may drop") + " incoming traffic of " +
               half.interface);
    }
  }
  if (!dropped.any() && unclear.any()) {
    unclear.add("`sparkplan verify --level tcp` measures it");
    return unclear.as(CheckStatus::kSkip);
  }
  const std::string& ufw = extended.firewall->ufw;
  return dropped.as(CheckStatus::kFail, ufw.empty() ? "" : "ufw is " + ufw);
}

}  // namespace sparkplan
