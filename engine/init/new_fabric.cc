#include "engine/init/new_fabric.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
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

std::vector<Ipv4Network> networks_in_use(const Members& members) {
  std::vector<Ipv4Network> used;
  for (const Member& member : members.nodes) {
    if (const auto address = parse_ipv4(member.address)) used.push_back({*address, 32});
    if (member.machine == nullptr) continue;
    for (const RouteFacts& route : member.machine->facts->host.routes) {
      const auto destination = parse_ipv4_interface(route.destination);
      if (destination && destination->prefix_length > 0) used.push_back(destination->network());
    }
    for (const LinkFacts& link : member.machine->facts->links) {
      for (const std::string& text : link.addresses) {
        if (const auto address = parse_ipv4_interface(text)) used.push_back(address->network());
      }
    }
  }
  return used;
}

bool are_free(const std::vector<Ipv4Network>& wanted, const std::vector<Ipv4Network>& used) {
  return std::none_of(wanted.begin(), wanted.end(), [&](const Ipv4Network& one) {
    return std::any_of(used.begin(), used.end(), [&](const Ipv4Network& other) { return one.overlaps(other); });
  });
}

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

/// Pure. `count` networks of /24 for a new fabric, in which no machine has an address or a route. An empty list if the
/// default networks are free, because then the file need not name them. Nothing if no private network is free.
std::optional<std::vector<std::string>> networks_for_new_fabric(const Members& members, std::size_t count) {
  const auto used = networks_in_use(members);
  std::vector<Ipv4Network> defaults;
  for (std::size_t i = 0; i < count; ++i) {
    if (const auto network = default_subnet(static_cast<int>(i))) defaults.push_back(*network);
  }
  if (defaults.size() == count && are_free(defaults, used)) return std::vector<std::string>();
  if (count > kNetworksPerSecond) return std::nullopt;
  for (const PrivateRange& range : kPrivateRanges) {
    for (std::uint32_t second = range.from; second <= range.to; ++second) {
      const auto wanted = networks_of(range.first, second, count);
      if (!are_free(wanted, used)) continue;
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
    const auto subnets = networks_for_new_fabric(members_, networks);
    if (!subnets) {
      const std::string finding = "all private networks contain addresses or routes of these machines";
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
    if (const auto free = networks_for_new_fabric(members_, 2); free && !free->empty())
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
