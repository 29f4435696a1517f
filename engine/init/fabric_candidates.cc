#include "engine/init/fabric_candidates.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/core/tree.h"
#include "engine/model/ipv4.h"
#include "engine/model/port_name.h"

namespace sparkplan {
namespace {

std::string network_of(const FoundInterface& interface) {
  const auto address = parse_ipv4_interface(interface.address);
  return address ? address->network().str() : "";
}

/// One end of a cable: the port of a node, with the networks of its halves.
struct End {
  std::size_t node = 0;
  int port = 0;
  std::vector<std::string> networks;
};

/// Ends by the network of their half A, without ends whose port is unknown.
std::map<std::string, std::vector<End>> ends_by_network(const std::vector<FoundFabric>& found) {
  std::map<std::string, std::vector<End>> ends;
  for (std::size_t node = 0; node < found.size(); ++node) {
    std::map<int, End> of_node;
    for (const FoundInterface& interface : found[node].interfaces) {
      const auto port = port_in_name(interface.name);
      if (!port || *port > 1 || network_of(interface).empty()) continue;
      End& end = of_node[*port];
      end.node = node;
      end.port = *port;
      end.networks.push_back(network_of(interface));
    }
    for (auto& [port, end] : of_node) ends[end.networks.front()].push_back(std::move(end));
  }
  return ends;
}

struct FoundCable {
  End first;
  End second;
};

/// The cables that the networks imply. Each node is the first end of one cable and the second end of another. Empty if
/// they form no ring.
std::vector<FoundCable> cables_of_ring(const std::vector<FoundFabric>& found) {
  std::vector<FoundCable> cables;
  std::vector<FoundCable> unordered;
  for (auto& [network, ends] : ends_by_network(found)) {
    if (ends.size() != 2 || ends[0].node == ends[1].node) return {};
    unordered.push_back({ends[0], ends[1]});
  }
  if (unordered.size() != found.size() || unordered.empty()) return {};
  // If there is a choice, start at port 0 of the first node.
  std::size_t at = 0;
  std::set<std::size_t> used;
  while (cables.size() < unordered.size()) {
    std::optional<std::size_t> next;
    for (std::size_t i = 0; i < unordered.size(); ++i) {
      const bool touches = unordered[i].first.node == at || unordered[i].second.node == at;
      if (used.contains(i) || !touches) continue;
      const auto port = [&](std::size_t cable) {
        return unordered[cable].first.node == at ? unordered[cable].first.port : unordered[cable].second.port;
      };
      if (!next || port(i) < port(*next)) next = i;
    }
    if (!next) return {};
    used.insert(*next);
    FoundCable cable = unordered[*next];
    if (cable.first.node != at) std::swap(cable.first, cable.second);
    at = cable.second.node;
    cables.push_back(std::move(cable));
  }
  return at == 0 ? cables : std::vector<FoundCable>();
}

Value names_of_cables(const std::vector<FoundCable>& cables, const Members& members) {
  Value list = Value::list();
  const auto text = [&](const End& end) { return members.nodes[end.node].name + ":" + std::to_string(end.port); };
  for (const FoundCable& cable : cables) list.push_back(list_of_texts({text(cable.first), text(cable.second)}));
  return list;
}

/// Two networks per cable, in the order of the ids of the cables' first ends.
std::vector<std::string> networks_of_cables(std::vector<FoundCable> cables, const Members& members) {
  std::sort(cables.begin(), cables.end(), [&](const FoundCable& a, const FoundCable& b) {
    return members.nodes[a.first.node].id < members.nodes[b.first.node].id;
  });
  std::vector<std::string> networks;
  for (const FoundCable& cable : cables) {
    networks.insert(networks.end(), cable.first.networks.begin(), cable.first.networks.end());
  }
  return networks;
}

class Candidates {
 public:
  Candidates(const Members& members, const std::vector<FoundFabric>& found) : members_(members), found_(found) {
    for (const FoundFabric& fabric : found) {
      for (const FoundInterface& interface : fabric.interfaces) {
        mtus_.insert(interface.mtu.value_or(0));
        link_local_ = link_local_ || interface.link_local;
        addressed_ = addressed_ || !interface.address.empty();
      }
    }
  }

  std::vector<Value> all() {
    if (mtus_.size() != 1) return {};  // A topology can declare only one MTU for all nodes.
    const std::size_t count = members_.nodes.size();
    if (count == 2) {
      for (const int port : {1, 0}) add_with_port("direct", port);
      add_with_subnets(Value::map({{"topology", "dual-cable"}}), networks_of_halves(found_));
    } else if (count > 2) {
      for (const int port : {1, 0}) add_with_port("switch", port);
      add_rings();
    }
    return std::move(all_);
  }

 private:
  void add_with_port(const char* topology, int port) {
    add_with_subnets(Value::map({{"topology", topology}, {"port", port}}), networks_of_halves(found_));
  }

  void add_rings() {
    const auto cables = cables_of_ring(found_);
    const auto networks = networks_of_cables(cables, members_);
    const Value ring = Value::map({{"topology", "ring"}});
    add_with_subnets(ring, networks);
    if (cables.empty()) return;
    Value with_cables = ring;
    with_cables.set("cables", names_of_cables(cables, members_));
    add_with_subnets(with_cables, networks);
  }

  void add_with_subnets(Value section, const std::vector<std::string>& networks) {
    const int mtu = *mtus_.begin();
    if (mtu == 0) section.set("mtu", Value());
    if (mtu != 0 && mtu != 9000) section.set("mtu", mtu);
    if (link_local_ && !addressed_) {
      all_.push_back(section);
      all_.back().set("link_local", "ipv4");
      return;
    }
    all_.push_back(section);
    if (networks.empty()) return;
    all_.push_back(std::move(section));
    all_.back().set("subnets", list_of_texts(networks));
  }

  const Members& members_;
  const std::vector<FoundFabric>& found_;
  std::set<int> mtus_;
  bool link_local_ = false;
  bool addressed_ = false;  ///< With one network, half B is link-local beside half A's address.
  std::vector<Value> all_;
};

}  // namespace

std::vector<std::string> networks_of_halves(const std::vector<FoundFabric>& found) {
  std::vector<std::string> networks;
  for (const FoundFabric& fabric : found) {
    for (const FoundInterface& interface : fabric.interfaces) {
      if (const auto network = network_of(interface); !network.empty()) networks.push_back(network);
    }
    if (!networks.empty()) break;
  }
  return networks;
}

std::vector<Value> fabric_candidates(const Members& members, const std::vector<FoundFabric>& found) {
  return Candidates(members, found).all();
}

}  // namespace sparkplan
