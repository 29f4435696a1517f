#include "engine/init/new_fabric.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/init/fabric_found.h"
#include "engine/load/fabric.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

/// The networks in which a machine has an address or a route. It may name hundreds of thousands: those that overlap are
/// merged, and a search among them is short.
class NetworksInUse {
 public:
  explicit NetworksInUse(const Member& member) : name_(member.name) {
    if (const auto address = parse_ipv4(member.address)) add({*address, 32});
    if (member.machine != nullptr) add_all(*member.machine->facts);
    merge();
  }

  const std::string& name() const { return name_; }

  bool has_one_of(const std::vector<Ipv4Network>& wanted) const {
    return std::any_of(wanted.begin(), wanted.end(), [&](const Ipv4Network& one) {
      const auto behind = first_last_.upper_bound(one.broadcast().bits);
      return behind != first_last_.begin() && std::prev(behind)->second >= one.base.bits;
    });
  }

 private:
  void add(const Ipv4Network& network) {
    std::uint32_t& last = first_last_[network.base.bits];
    last = std::max(last, network.broadcast().bits);
  }

  void add_all(const Facts& facts) {
    for (const RouteFacts& route : facts.host.routes) {
      const auto destination = parse_ipv4_interface(route.destination);
      if (destination && destination->prefix_length > 0) add(destination->network());
    }
    for (const LinkFacts& link : facts.links) {
      for (const std::string& text : link.addresses) {
        if (const auto address = parse_ipv4_interface(text)) add(address->network());
      }
    }
  }

  void merge() {
    for (auto one = first_last_.begin(); one != first_last_.end();) {
      const auto next = std::next(one);
      if (next == first_last_.end() || next->first > one->second) {
        one = next;
        continue;
      }
      one->second = std::max(one->second, next->second);
      first_last_.erase(next);
    }
  }

  std::string name_;
  std::map<std::uint32_t, std::uint32_t> first_last_;  ///< The first address of each part -> its last one.
};

/// Looks for free networks.
class FreeNetworks {
 public:
  explicit FreeNetworks(const Members& members) {
    for (const Member& member : members.nodes) used_.emplace_back(member);
  }

  bool are_free(const std::vector<Ipv4Network>& wanted) {
    const NetworksInUse* first = nullptr;
    for (const NetworksInUse& one : used_) {
      if (!one.has_one_of(wanted)) continue;
      if (first != nullptr) return false;
      first = &one;
    }
    if (first != nullptr) only_of_.insert(first->name());
    return first == nullptr;
  }

  /// The machines without which other networks would have been free. A single one may only claim its networks.
  std::vector<std::string> only_of() const { return {only_of_.begin(), only_of_.end()}; }

 private:
  std::vector<NetworksInUse> used_;
  std::set<std::string> only_of_;
};

constexpr std::size_t kNetworksPerSecond = 256;

/// FIRST.SECOND.0.0/24, FIRST.SECOND.1.0/24 and so on.
std::vector<Ipv4Network> networks_of(std::uint32_t first, std::uint32_t second, std::size_t count) {
  std::vector<Ipv4Network> networks;
  for (std::uint32_t third = 0; third < count; ++third) {
    networks.push_back({{(first << 24) | (second << 16) | (third << 8)}, 24});
  }
  return networks;
}

/// The private ranges with more than a few networks. Rarely used parts come first.
struct PrivateRange {
  std::uint32_t first;
  std::uint32_t from;
  std::uint32_t to;
};
constexpr std::array kPrivateRanges = {PrivateRange{10, 100, 255}, PrivateRange{10, 0, 99}, PrivateRange{172, 16, 31}};

/// `count` networks of /24 for a new fabric, in which no machine has an address or a route. An empty list if the
/// default networks are free, because then the file need not name them. Nothing if no private network is free.
std::optional<std::vector<std::string>> networks_for_new_fabric(FreeNetworks& networks, std::size_t count) {
  std::vector<Ipv4Network> defaults;
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto network = default_subnet(static_cast<int>(i))) defaults.push_back(*network);
  }
  if (defaults.size() == count && networks.are_free(defaults)) return std::vector<std::string>();
  if (count > kNetworksPerSecond) return std::nullopt;
  for (const PrivateRange& range : kPrivateRanges) {
    for (std::uint32_t second = range.from; second <= range.to; ++second) {
      const auto wanted = networks_of(range.first, second, count);
      if (!networks.are_free(wanted)) continue;
      std::vector<std::string> texts;
      for (const Ipv4Network& network : wanted) texts.push_back(network.str());
      return texts;
    }
  }
  return std::nullopt;
}

/// One machine's facts about its QSFP ports, by their number.
struct PortClaims {
  std::size_t node = 0;  ///< Its position among the members.
  std::array<bool, 2> exists{};
  std::array<bool, 2> has_link{};
  std::array<bool, 2> carries_us{};  ///< Our connection, on one of its halves.
  bool is_spark = false;
};

PortClaims port_claims_of(std::size_t node, const Facts& facts) {
  PortClaims claims;
  claims.node = node;
  claims.is_spark = is_dgx_spark(facts);
  std::array<int, 2> all{};
  std::array<int, 2> free{};
  std::array<int, 2> connected{};
  // A bond takes the addresses of its interfaces, but not their cables.
  for (const LinkFacts* link : fabric_links(facts, true)) {
    const auto port = spark_port_of(*link);
    if (!port) continue;
    ++free.at(static_cast<std::size_t>(*port));
    if (link->carrier) ++connected.at(static_cast<std::size_t>(*port));
  }
  for (const LinkFacts& link : facts.links) {
    if (const auto port = spark_port_of(link)) ++all.at(static_cast<std::size_t>(*port));
  }
  for (const std::size_t port : {0U, 1U}) {
    claims.exists.at(port) = free.at(port) == 2;
    claims.has_link.at(port) = connected.at(port) == 2;
    claims.carries_us.at(port) = free.at(port) != all.at(port);
  }
  return claims;
}

/// The fabrics that may be proposed, the best one first.
enum class Proposal : std::uint8_t { kBothPorts, kPort1, kPort0, kPortOfEach, kGuess1, kGuess0 };
constexpr std::array kProposals = {Proposal::kBothPorts,  Proposal::kPort1,  Proposal::kPort0,
                                   Proposal::kPortOfEach, Proposal::kGuess1, Proposal::kGuess0};

constexpr int port_of_proposal(Proposal proposal) {
  return proposal == Proposal::kPort0 || proposal == Proposal::kGuess0 ? 0 : 1;
}

class NewFabric {
 public:
  NewFabric(const Members& members, const Registry& registry, FabricChoice& result)
      : members_(members), registry_(registry), result_(result) {
    for (std::size_t i = 0; i < count(); ++i) {
      if (was_read(i)) claims_.push_back(port_claims_of(i, facts(i)));
    }
  }

  void run() {
    if (count() < 2) {
      result_.why = "A single node has no cable: add the other nodes, and `fabric: {topology: direct, port: 1}`.";
      return;
    }
    const auto chosen = std::ranges::find_if(kProposals, [&](Proposal one) { return fits(one, nullptr); });
    if (chosen != kProposals.end()) {
      propose(*chosen);
    } else {
      result_.why =
          "No suitable QSFP port was found, so the file has no fabric. To use other network cards, name their "
          "interfaces: see \"interfaces\" of `fabric` in cluster.yaml(5).";
    }
    // With a port of each node, the file names the nodes whose port is another one.
    if (chosen == kProposals.end() || *chosen != Proposal::kPortOfEach) name_who_decides({kProposals.begin(), chosen});
  }

 private:
  const Facts& facts(std::size_t i) const { return *members_.nodes[i].machine->facts; }
  bool was_read(std::size_t i) const { return members_.nodes[i].machine != nullptr; }
  std::size_t count() const { return members_.nodes.size(); }
  bool is_pair() const { return count() == 2; }
  const char* topology_with_port() const { return is_pair() ? "direct" : "switch"; }

  /// True if the proposal fits all machines but `without`; null: all of them.
  bool fits(Proposal proposal, const PortClaims* without) {
    const auto all = [&](auto matches) {
      return std::ranges::all_of(claims_, [&](const PortClaims& one) { return &one == without || matches(one); });
    };
    const auto port = static_cast<std::size_t>(port_of_proposal(proposal));
    switch (proposal) {
      case Proposal::kBothPorts:
        return all([](const PortClaims& one) { return one.has_link[0] && one.has_link[1]; });
      case Proposal::kPort1:
      case Proposal::kPort0:
        return all([&](const PortClaims& one) { return one.has_link.at(port); });
      case Proposal::kPortOfEach:
        return claims_.size() == count() &&
               all([](const PortClaims& one) { return one.has_link[0] != one.has_link[1]; });
      case Proposal::kGuess1:
      case Proposal::kGuess0:
        break;
    }
    // A port that is not connected, or that a Spark does not show because it has no cable. Not one that carries our
    // connection.
    if (!all([&](const PortClaims& one) { return !one.carries_us.at(port); })) return false;
    const bool all_are_sparks = claims_.size() == count() && all([](const PortClaims& one) { return one.is_spark; });
    if (!all_are_sparks && !all([&](const PortClaims& one) { return one.exists.at(port); })) return false;
    const auto& halves = fitting_halves(port);
    return halves && all([&](const PortClaims& one) { return halves->contains(one.node); });
  }

  void propose(Proposal proposal) {
    const int port = port_of_proposal(proposal);
    const std::string number = std::to_string(port);
    const Value section = Value::map({{"topology", topology_with_port()}, {"port", port}});
    switch (proposal) {
      case Proposal::kBothPorts:
        return take(Value::map({{"topology", is_pair() ? "dual-cable" : "ring"}}), is_pair() ? 4 : 2 * count(),
                    is_pair() ? "Both ports of both nodes have a link."
                              : "Both ports of all nodes have a link, as in a ring. The file assumes cables from port "
                                "0 of each node to port 1 of the next; if that is wrong, name them in `cables`.");
      case Proposal::kPort1:
      case Proposal::kPort0:
        return take(section, 2, "Port " + number + " has a link on all nodes.");
      case Proposal::kPortOfEach:
        take(section, 2, "Each node has a link on one port, but not on the same one.");
        if (result_.section.is_null()) return;
        for (const PortClaims& one : claims_) {
          if (one.has_link[0]) result_.of_nodes[members_.nodes[one.node].name] = Value::map({{"port", 0}});
        }
        return;
      case Proposal::kGuess1:
      case Proposal::kGuess0:
        return take(section, 2, "No port has a link on all nodes: port " + number + " is a guess.");
    }
  }

  /// Names the machines without which a better proposal would fit. A single one may only claim its ports. Each machine
  /// is named once, with the best of these proposals.
  void name_who_decides(const std::vector<Proposal>& better) {
    if (claims_.size() < 2) return;
    std::set<std::size_t> named;
    for (const Proposal proposal : better) {
      std::vector<std::string> names;
      for (const PortClaims& one : claims_) {
        if (!fits(proposal, &one) || !named.insert(one.node).second) continue;
        names.push_back(members_.nodes[one.node].name);
      }
      if (names.empty()) continue;
      result_.why += "\nWithout " + std::string(names.size() > 1 ? "one of " : "") + fold_first_names(names) + ", " +
                     words_for(proposal) + " would fit: check the cables and addresses there.";
    }
  }

  std::string words_for(Proposal proposal) const {
    const std::string topology = std::string("`topology: ") + topology_with_port();
    if (proposal == Proposal::kBothPorts) return is_pair() ? "`topology: dual-cable`" : "`topology: ring`";
    if (proposal == Proposal::kPortOfEach) return topology + "` with a port of each node";
    return topology + ", port: " + std::to_string(port_of_proposal(proposal)) + "`";
  }

  void take(Value section, std::size_t networks, const std::string& why) {
    result_.why = why + " No node has fabric addresses yet.";
    FreeNetworks free(members_);
    const auto subnets = networks_for_new_fabric(free, networks);
    if (!subnets) {
      std::string finding = "all private networks contain addresses or routes of these machines";
      if (const auto names = free.only_of(); !names.empty())
        finding += "; some contain only those of " + fold_names(names);
      result_.why = why + " The file has no fabric, because " + finding + ": name networks in `subnets`.";
      result_.remarks.push_back(no_fabric_remark(finding));
      result_.remarks.back().hint = "name networks to use in `subnets` of `fabric`";
      return;
    }
    if (!subnets->empty()) {
      section.set("subnets", list_of_texts(*subnets));
      result_.why += " The default networks from 192.168.100.0/24 on are in use.";
    }
    result_.section = std::move(section);
    for (const int port : {0, 1}) {
      if (const auto given = result_.section.integer_or("port", port); given == port) tell_who_holds(port);
    }
  }

  /// Reports bonds and bridges that hold the port: the user has to dissolve them before the apply.
  void tell_who_holds(int port) {
    std::map<std::string, std::vector<std::string>> held;  // "enp1s0f1np1 belongs to bond0" -> nodes
    for (std::size_t i = 0; i < count(); ++i) {
      if (!was_read(i)) continue;
      for (const LinkFacts* link : fabric_links(facts(i), true)) {
        if (spark_port_of(*link) != port || link->master.empty()) continue;
        held[link->name + " belongs to " + link->master].push_back(members_.nodes[i].name);
      }
    }
    if (held.empty()) return;
    std::vector<std::string> told;
    for (const auto& [what, nodes] : held) told.push_back(printable("on " + fold_names(nodes) + " " + what));
    result_.why += "\nRemove the bond or bridge of these interfaces before `apply`: " + join(told, "; ") + ".";
  }

  /// The positions of the machines from whose facts the interfaces of the port follow; nothing if the file would not be
  /// valid. Without this check, a plan would report the port as missing.
  const std::optional<std::set<std::size_t>>& fitting_halves(std::size_t port) {
    auto& known = fitting_halves_.at(port);
    if (!known) known.emplace(find_fitting_halves(static_cast<int>(port)));
    return *known;
  }

  std::optional<std::set<std::size_t>> find_fitting_halves(int port) const {
    Value section = Value::map({{"topology", topology_with_port()}, {"port", port}});
    FreeNetworks networks(members_);
    if (const auto free = networks_for_new_fabric(networks, 2); free && !free->empty())
      section.set("subnets", list_of_texts(*free));
    const auto cluster = cluster_with_fabric(members_, section, registry_);
    if (!cluster) return std::nullopt;
    std::set<std::size_t> fitting;
    for (const PortClaims& one : claims_) {
      if (derived_interfaces(cluster->nodes[one.node], facts(one.node))) fitting.insert(one.node);
    }
    return fitting;
  }

  const Members& members_;
  const Registry& registry_;
  FabricChoice& result_;
  std::vector<PortClaims> claims_;  ///< Of the machines that were read.
  /// By port; the outer value is absent until it is needed.
  std::array<std::optional<std::optional<std::set<std::size_t>>>, 2> fitting_halves_;
};

}  // namespace

void propose_fabric(const Members& members, const Registry& registry, FabricChoice& choice) {
  NewFabric(members, registry, choice).run();
}

}  // namespace sparkplan
