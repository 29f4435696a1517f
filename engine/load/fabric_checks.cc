#include <map>
#include <set>

#include "engine/core/tree.h"
#include "engine/load/fabric.h"
#include "engine/model/port_name.h"

namespace sparkplan {
namespace {

// A fabric network and the place that names it; unknown for a default subnet.
struct PlacedNetwork {
  Ipv4Network network;
  SourceRange where;
};

const Value* interfaces_of(const UnresolvedNode& node) {
  const Value* interfaces = find_below(*node.record, "fabric", "interfaces");
  return interfaces != nullptr && interfaces->is_list() ? interfaces : nullptr;
}

// With two interfaces in one subnet, answers leave through the first matching route.
void check_twins(const UnresolvedNode& node, const Value& interfaces, Findings& findings) {
  std::vector<PlacedNetwork> seen;
  for (const auto& interface : items_of(&interfaces)) {
    const Value* address = interface.find("address");
    if (address == nullptr || !address->is_string()) continue;
    check_interface_address(*address, "fabric.address", findings);
    const auto parsed = parse_ipv4_interface(text_of(address));
    if (!parsed) continue;
    const Ipv4Network network = parsed->network();
    for (const auto& earlier : seen) {
      if (!earlier.network.overlaps(network)) continue;
      findings.error(address->where, "fabric.twins-in-one-subnet",
                     "two interfaces of " + node.name + " are in the subnet " + network.str(),
                     "give each interface a subnet of its own", {{"the other interface", earlier.where}});
      break;
    }
    seen.push_back({network, address->where});
  }
}

// True if the names have one half of a port and not the other one. Names other than a DGX Spark's do not
// show their port: then a topology of whole ports needs at least two.
bool leaves_out_a_half(const std::set<std::string>& names, Topology topology) {
  bool known = false;
  for (int port = 0; port < 2; ++port) {
    int halves = 0;
    for (int half = 0; half < kHalvesOfAPort; ++half) {
      const std::string interface = spark_interface(port, half);
      const bool named = names.contains(interface) || names.contains(spark_hcas(interface).front());
      halves += named ? 1 : 0;
    }
    if (halves == 1) return true;
    known = known || halves > 0;
  }
  return !known && topology != Topology::kCustom && names.size() == 1;
}

void check_half_used(const UnresolvedNode& node, const FabricFile& fabric, Findings& findings) {
  const Value* own = node.record->find("fabric");
  if (own == nullptr) return;
  for (const char* const key : {"interfaces", "hcas"}) {
    const auto* entry = own->find_entry(key);
    if (entry == nullptr) continue;
    std::set<std::string> names;
    for (const Value& item : items_of(&entry->value)) {
      names.insert(item.is_string() ? text_of(&item) : item.text_or("name", ""));
    }
    if (!leaves_out_a_half(names, fabric.topology)) continue;
    findings.warning(entry->key_where, "fabric.one-half",
                     node.name + " uses only one half of its port: it gets about half of its bandwidth",
                     "list both halves, such as enp1s0f1np1 and enP2p1s0f1np1 (rocep1s0f1 and roceP2p1s0f1)");
  }
}

struct Claim {
  SourceRange where;
  const UnresolvedNode* node = nullptr;
  bool written = false;  // In an interface's own `address`.
};

void check_fabric_duplicates(const UnresolvedCluster& draft, Findings& findings) {
  std::map<std::string, Claim> taken;
  for (const auto& node : draft.nodes) {
    const bool written = interfaces_of(node) != nullptr;
    for (const auto& address : node.fabric) {
      if (address.address.empty()) continue;
      const Claim claim{written ? address.where : node.id_where, &node, written};
      const auto [first, is_new] = taken.try_emplace(address.address, claim);
      // Two derived addresses are equal only if two ids are equal, which has its own finding.
      if (is_new || (!claim.written && !first->second.written)) continue;
      const bool in_order = first->second.where < claim.where;
      const Claim& later = in_order ? claim : first->second;
      const Claim& earlier = in_order ? first->second : claim;
      findings.error(later.where, "fabric.duplicate-address",
                     "the fabric address " + address.address + " already belongs to " + earlier.node->name, "",
                     {{earlier.written ? "given here" : "derived from the id here", earlier.where}});
    }
  }
}

std::vector<PlacedNetwork> all_networks(const UnresolvedCluster& draft, const FabricFile& fabric) {
  std::vector<PlacedNetwork> networks;
  std::set<std::pair<std::uint32_t, int>> known;
  const auto add = [&](const Ipv4Network& network, SourceRange where) {
    if (known.insert({network.base.bits, network.prefix_length}).second) networks.push_back({network, where});
  };
  for (const auto& subnet : fabric.subnets) add(subnet.network, subnet.where);
  for (const auto& node : draft.nodes) {
    if (interfaces_of(node) == nullptr) continue;
    for (const auto& address : node.fabric) {
      const auto parsed = parse_ipv4(address.address);
      if (parsed) add(Ipv4Interface{*parsed, address.prefix_length}.network(), address.where);
    }
  }
  return networks;
}

void check_management(const UnresolvedCluster& draft, const FabricFile& fabric, Findings& findings) {
  const auto networks = all_networks(draft, fabric);
  for (const auto& node : draft.nodes) {
    const auto address = parse_ipv4(node.address);
    if (!address || node.transport == TransportKind::kLocal) continue;
    for (const auto& [network, where] : networks) {
      if (!network.contains(*address)) continue;
      const std::string message = "the fabric subnet " + network.str() + " contains " + node.address +
                                  ", the management address of " + node.name;
      const std::string hint = "choose another network for the fabric in \"subnets\"";
      const std::string code = "fabric.subnet-has-management-address";
      if (!where.known()) {
        findings.error(node.address_where, code, message, hint, {{"the default subnets are used here", fabric.where}});
      } else if (where < node.address_where) {
        findings.error(node.address_where, code, message, hint, {{"the fabric's subnet", where}});
      } else {
        findings.error(where, code, message, hint, {{"the management address", node.address_where}});
      }
      break;
    }
  }
}

}  // namespace

void check_interface_address(const Value& value, const std::string& code, Findings& findings) {
  const std::string& text = text_of(&value);
  const auto parsed = parse_ipv4_interface(text);
  if (!parsed) {
    const std::string hint = parse_ipv4(text) ? "add the prefix length: " + text + "/24"
                                              : "write an IPv4 address with its prefix: 192.168.100.11/24";
    findings.error(value.where, code, in_quotes(text) + " is not an address with a prefix length", hint);
    return;
  }
  const Ipv4Network network = parsed->network();
  const bool point_to_point = network.prefix_length >= 31;
  const bool reserved = parsed->address == network.base || parsed->address == network.broadcast();
  if (!is_host_address(parsed->address) || (reserved && !point_to_point)) {
    findings.error(value.where, code, in_quotes(text) + " cannot be the address of an interface",
                   reserved ? "choose another one: this is the first or last of " + network.str() : "");
  }
}

void check_fabric(const UnresolvedCluster& draft, const FabricFile& fabric, Findings& findings) {
  for (const auto& node : draft.nodes) {
    if (const Value* interfaces = interfaces_of(node)) check_twins(node, *interfaces, findings);
    check_half_used(node, fabric, findings);
  }
  check_fabric_duplicates(draft, findings);
  check_management(draft, fabric, findings);
}

}  // namespace sparkplan
