#include "engine/domain/fabric/cabling.h"

#include <algorithm>

#include "engine/model/ipv4.h"
#include "engine/model/port_name.h"

namespace sparkplan {
namespace {

/// Halves without an address are joined by their place.
bool are_joined(const FabricPort& a, const FabricPort& b) {
  return a.address.empty() && b.address.empty() ? a.half == b.half : share_network(a, b);
}

std::optional<std::size_t> place_of(const Cluster& cluster, const NodeName& name) {
  const auto found = std::ranges::find_if(cluster.nodes, [&](const NodeSpec& node) { return node.name == name; });
  if (found == cluster.nodes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - cluster.nodes.begin());
}

std::vector<Wire> wires_to_switch(const Cluster& cluster) {
  std::vector<Wire> wires;
  for (std::size_t node = 0; node < cluster.nodes.size(); ++node) {
    for (std::size_t half = 0; half < cluster.nodes[node].fabric.size(); ++half)
      wires.push_back({{node, half}, std::nullopt});
  }
  return wires;
}

}  // namespace

std::string topology_of(const Cluster& cluster) {
  if (cluster.nodes.empty()) return "";
  const auto& sections = cluster.nodes.front().sections;
  const auto section = sections.find("fabric");
  return section == sections.end() ? "" : section->second.text_or("topology", "");
}

std::vector<Wire> declared_wires(const Cluster& cluster) {
  if (topology_of(cluster) == "switch") return wires_to_switch(cluster);
  std::vector<Wire> wires;
  for (const auto& [first, second] : cluster.cables) {
    const auto from = place_of(cluster, first);
    const auto to = place_of(cluster, second);
    if (!from || !to) continue;
    const auto& ours = cluster.nodes[*from].fabric;
    const auto& theirs = cluster.nodes[*to].fabric;
    for (std::size_t a = 0; a < ours.size(); ++a) {
      for (std::size_t b = 0; b < theirs.size(); ++b) {
        const Wire wire{{*from, a}, WireEnd{*to, b}};
        const bool known = std::find(wires.begin(), wires.end(), wire) != wires.end();
        if (are_joined(ours[a], theirs[b]) && !known) wires.push_back(wire);
      }
    }
  }
  return wires;
}

std::string half_name(const NodeSpec& node, const FabricPort& port) {
  if (!port.interface.empty()) return port.interface;
  return "port " + std::to_string(port_of_half(node, port.half)) + " half " +
         (port.half % kHalvesOfAPort == 0 ? "A" : "B");
}

std::string address_or_kind(const FabricPort& port) {
  if (!port.address.empty()) return port.address_text();
  return port.link_local ? "link-local" : "no address";
}

}  // namespace sparkplan
