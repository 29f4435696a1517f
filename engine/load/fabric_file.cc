#include <algorithm>
#include <map>

#include "engine/core/tree.h"
#include "engine/load/fabric.h"
#include "engine/load/node_names.h"

namespace sparkplan {
namespace {

constexpr int kJumboMtu = 9000;
constexpr int kWidestPrefix = 8;

void read_subnet(const Value& value, FabricFile& fabric, Findings& findings) {
  if (!value.is_string()) {
    fabric.subnets_usable = false;
    return;
  }
  const std::string& text = text_of(&value);
  const auto refuse = [&](const std::string& why, std::string hint) {
    findings.error(value.where, "fabric.subnet", in_quotes(text) + " " + why, std::move(hint));
    fabric.subnets_usable = false;
  };
  const auto parsed = parse_ipv4_interface(text);
  if (!parsed) {
    return refuse("is not an IPv4 network",
                  parse_ipv4(text) ? "add the prefix length: " + text + "/24" : "write it like 192.168.100.0/24");
  }
  const Ipv4Network network = parsed->network();
  if (network.base != parsed->address && network.prefix_length >= kWidestPrefix) {
    return refuse("is an address inside a network, not a network", "write " + network.str());
  }
  if (network.prefix_length < kWidestPrefix || !is_host_address(network.base) ||
      !is_host_address(network.broadcast())) {
    return refuse("is not a network for host addresses",
                  "choose private networks in 10.0.0.0/8, 172.16.0.0/12 or 192.168.0.0/16");
  }
  if (largest_id(network) < 1) return refuse("is too small for network + 10 + id", "use a /24 or a wider one");
  fabric.subnets.push_back({network, value.where});
}

std::optional<CableEnd> read_cable_end(const Value& value, NodeNames& names, Findings& findings) {
  const auto* text = value.string();
  const auto colon = text == nullptr ? std::string::npos : text->rfind(':');
  if (colon == std::string::npos || colon + 2 != text->size()) return std::nullopt;
  CableEnd end{text->substr(0, colon), (*text)[colon + 1] - '0', value.where};
  if (end.port != 0 && end.port != 1) return std::nullopt;
  if (!names.has(end.node)) {
    const auto near = names.meant_by(end.node);
    findings.error(value.where, "fabric.unknown-node", "no node is called " + in_quotes(end.node),
                   near ? "did you mean \"" + *near + "\"?" : "");
    return std::nullopt;
  }
  return end;
}

void read_cables(const Value& list, const std::vector<UnresolvedNode>& nodes, FabricFile& fabric, Findings& findings) {
  NodeNames names(nodes);
  std::map<std::pair<std::string, int>, SourceRange> used;
  for (const auto& item : items_of(&list)) {
    const auto* ends = item.list_items();
    if (ends == nullptr || ends->size() != 2) {
      fabric.cables_usable = false;
      continue;
    }
    const auto first = read_cable_end((*ends)[0], names, findings);
    const auto second = read_cable_end((*ends)[1], names, findings);
    if (!first || !second) {
      fabric.cables_usable = false;
      continue;
    }
    if (first->node == second->node) {
      findings.error(second->where, "fabric.cable-to-itself", "this cable begins and ends at " + first->node);
      fabric.cables_usable = false;
    }
    for (const auto& end : {*first, *second}) {
      const auto [earlier, is_new] = used.try_emplace({end.node, end.port}, end.where);
      if (is_new) continue;
      findings.error(end.where, "fabric.port-used-twice",
                     "port " + std::to_string(end.port) + " of " + end.node + " already has a cable", "",
                     {{"first used here", earlier->second}});
      fabric.cables_usable = false;
    }
    fabric.cables.push_back({*first, *second});
  }
}

void read_lists(const Value& section, const std::vector<UnresolvedNode>& nodes, FabricFile& fabric,
                Findings& findings) {
  if (const auto* subnets = section.find_entry("subnets"); subnets != nullptr && subnets->value.is_list()) {
    fabric.subnets_key = subnets->key_where;
    for (const auto& value : items_of(&subnets->value)) read_subnet(value, fabric, findings);
  }
  if (const auto* cables = section.find_entry("cables"); cables != nullptr && cables->value.is_list()) {
    fabric.cables_key = cables->key_where;
    read_cables(cables->value, nodes, fabric, findings);
  }
}

}  // namespace

FabricFile read_fabric(const Value& root, const std::vector<UnresolvedNode>& nodes, Findings& findings) {
  FabricFile fabric;
  const auto* entry = root.find_entry("fabric");
  if (entry == nullptr || !entry->value.is_map()) {
    // Nodes may still have their own interfaces.
    fabric.topology = Topology::kCustom;
    return fabric;
  }
  const Value& section = entry->value;
  fabric.present = true;
  fabric.where = entry->key_where;
  fabric.topology = value_named<Topology>(section.text_or("topology", "")).value_or(Topology::kDirect);
  if (const Value* topology = section.find("topology"); topology != nullptr && topology->is_string()) {
    fabric.topology_where = topology->where;
  }
  fabric.port = static_cast<int>(section.integer_or("port", 1));
  if (section.integer_or("port", -1) >= 0) fabric.port_key = key_place_of(section, "port");
  if (fabric.topology != Topology::kCustom) fabric.ports.mtu = kJumboMtu;
  fabric.ports.read(section);
  read_lists(section, nodes, fabric, findings);
  return fabric;
}

}  // namespace sparkplan
