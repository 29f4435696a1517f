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

class NewFabric {
 public:
  NewFabric(const Members& members, const Registry& registry, FabricChoice& result)
      : members_(members), registry_(registry), result_(result) {}

  void run() {
    if (count() < 2) {
      result_.why = "A single node has no cable: add the other nodes, and `fabric: {topology: direct, port: 1}`.";
      return;
    }
    const bool pair = count() == 2;
    if (all_have(0, true) && all_have(1, true)) {
      take(Value::map({{"topology", pair ? "dual-cable" : "ring"}}), pair ? 4 : 2 * count(),
           pair ? "Both ports of both nodes have a link."
                : "Both ports of all nodes have a link, as in a ring. The file assumes cables from port 0 of each "
                  "node to port 1 of the next; if that is wrong, name them in `cables`.");
      return;
    }
    const std::string topology = pair ? "direct" : "switch";
    for (const bool carrier : {true, false}) {
      for (const int port : {1, 0}) {
        if (carrier ? !all_have(port, true) : !may_be_meant(port)) continue;
        const std::string number = std::to_string(port);
        take(Value::map({{"topology", topology}, {"port", port}}), 2,
             carrier ? "Port " + number + " has a link on all nodes."
                     : "No port has a link on all nodes: port " + number + " is a guess.");
        return;
      }
      if (carrier && take_port_of_each(topology)) return;
    }
    result_.why =
        "No suitable QSFP port was found, so the file has no fabric. To use other network cards, name their "
        "interfaces: see \"interfaces\" of `fabric` in cluster.yaml(5).";
  }

 private:
  const Facts& facts(std::size_t i) const { return *members_.nodes[i].machine->facts; }
  bool was_read(std::size_t i) const { return members_.nodes[i].machine != nullptr; }
  std::size_t count() const { return members_.nodes.size(); }

  /// True if both halves of the port exist on every node and, with `carrier`, are connected.
  bool all_have(int port, bool carrier) const {
    for (std::size_t i = 0; i < count(); ++i) {
      if (was_read(i) && !has(i, port, carrier)) return false;
    }
    return true;
  }

  bool has(std::size_t i, int port, bool carrier) const {
    // A bond takes the addresses of its interfaces, but not their cables.
    const auto links = fabric_links(facts(i), true);
    return 2 == std::count_if(links.begin(), links.end(), [&](const LinkFacts* link) {
             return spark_port_of(*link) == port && (link->carrier || !carrier);
           });
  }

  bool all_are_sparks() const {
    for (std::size_t i = 0; i < count(); ++i) {
      if (!was_read(i) || !is_dgx_spark(facts(i))) return false;
    }
    return true;
  }

  /// The cables are in different ports, one at each node.
  bool take_port_of_each(const std::string& topology) {
    for (std::size_t i = 0; i < count(); ++i) {
      if (!was_read(i) || has(i, 0, true) == has(i, 1, true)) return false;
    }
    take(Value::map({{"topology", topology}, {"port", 1}}), 2,
         "Each node has a link on one port, but not on the same one.");
    for (std::size_t i = 0; i < count() && !result_.section.is_null(); ++i) {
      if (has(i, 0, true)) result_.of_nodes[members_.nodes[i].name] = Value::map({{"port", 0}});
    }
    return true;
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

  /// True for a port that is not connected, or that a Spark does not show because it has no cable. False for a port
  /// that carries our connection.
  bool may_be_meant(int port) const {
    for (std::size_t i = 0; i < count(); ++i) {
      if (!was_read(i)) continue;
      const auto links = fabric_links(facts(i), true);
      for (const LinkFacts& link : facts(i).links) {
        if (spark_port_of(link) == port && std::find(links.begin(), links.end(), &link) == links.end()) return false;
      }
    }
    return (all_have(port, false) || all_are_sparks()) && has_fitting_halves(port);
  }

  /// Without this check, a plan would report the port as missing.
  bool has_fitting_halves(int port) const {
    const char* const topology = count() == 2 ? "direct" : "switch";
    Value section = Value::map({{"topology", topology}, {"port", port}});
    FreeNetworks networks(members_);
    if (const auto free = networks_for_new_fabric(networks, 2); free && !free->empty())
      section.set("subnets", list_of_texts(*free));
    const auto cluster = cluster_with_fabric(members_, section, registry_);
    if (!cluster) return false;
    for (std::size_t i = 0; i < count(); ++i) {
      if (was_read(i) && !derived_interfaces(cluster->nodes[i], facts(i))) return false;
    }
    return true;
  }

  const Members& members_;
  const Registry& registry_;
  FabricChoice& result_;
};

}  // namespace

void propose_fabric(const Members& members, const Registry& registry, FabricChoice& choice) {
  NewFabric(members, registry, choice).run();
}

}  // namespace sparkplan
