// `interfaces` of a node: ports that are no part of the fabric.
#include <algorithm>
#include <map>

#include "engine/core/tree.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/load/fabric.h"
#include "engine/load/merge.h"
#include "engine/model/port_name.h"

namespace sparkplan {
namespace {

constexpr std::string_view kDefault = "default";

struct PlacedAddress {
  Ipv4Interface address;
  SourceRange where;
  const UnresolvedNode* node = nullptr;
};

void check_names(const UnresolvedNode& node, const Value::List& interfaces, Findings& findings) {
  std::map<std::string, SourceRange> fabric;
  std::map<std::string, SourceRange> seen;
  for (const Value& one : items_of(find_below(*node.record, "fabric", "interfaces"))) {
    fabric.try_emplace(one.text_or("name", ""), place_of(one, "name"));
  }
  for (const Value& one : interfaces) {
    const std::string name = one.text_or("name", "");
    const SourceRange where = place_of(one, "name");
    if (const auto also = fabric.find(name); also != fabric.end()) {
      findings.error(where, "interfaces.also-fabric", name + " of " + node.name + " is in the fabric too",
                     "keep it in one of the two: NCCL uses those of the fabric",
                     {{"in the fabric here", also->second}});
    }
    const auto [first, is_new] = seen.try_emplace(name, where);
    if (is_new) continue;
    findings.error(where, "list.duplicate", in_quotes(name) + " is given twice in \"interfaces\"",
                   "keep one of the two", {{"first given here", first->second}});
  }
}

void check_hcas(const UnresolvedNode& node, const Value::List& interfaces, Findings& findings) {
  for (const Value& device : items_of(find_below(*node.record, "fabric", "hcas"))) {
    for (const Value& one : interfaces) {
      const std::string name = one.text_or("name", "");
      const auto devices = spark_hcas(name);
      if (std::find(devices.begin(), devices.end(), text_of(&device)) == devices.end()) continue;
      findings.error(device.where, "interfaces.given-to-nccl",
                     text_of(&device) + " belongs to " + name + ", which is no part of the fabric",
                     "take it out of \"hcas\", or " + name + " out of \"interfaces\"",
                     {{"the interface", place_of(one, "name")}});
    }
  }
}

/// A gateway has to be in the network of the interface: the kernel refuses others.
void check_gateway(const Value& gateway, const Ipv4Interface& address, Findings& findings) {
  const std::string& text = text_of(&gateway);
  const auto parsed = parse_ipv4(text);
  if (parsed && *parsed != address.address && address.network().contains(*parsed) && is_host_address(*parsed)) return;
  findings.error(gateway.where, "interfaces.gateway",
                 in_quotes(text) + " cannot be a gateway of " + address.network().str(),
                 "write the address of another machine in that network");
}

void check_route(const Value& route, const Ipv4Interface& address, Findings& findings) {
  if (const Value* via = route.find("via"); via != nullptr && via->is_string()) check_gateway(*via, address, findings);
  const Value* to = route.find("to");
  if (to == nullptr || !to->is_string() || text_of(to) == kDefault) return;
  const auto network = parse_ipv4_interface(text_of(to));
  if (network && network->network().base == network->address) return;
  findings.error(to->where, "interfaces.route", in_quotes(text_of(to)) + " is not an IPv4 network",
                 network ? "write " + network->network().str() : "write it like 10.9.0.0/16, or \"default\"");
}

bool is_default(const Value& route) { return route.text_or("to", "") == kDefault; }

/// The address, if it is one.
std::optional<PlacedAddress> check_interface(const UnresolvedNode& node, const Value& one, Findings& findings) {
  const Value* address = one.find("address");
  if (address == nullptr || !address->is_string()) {
    for (const char* const key : {"gateway", "routes"}) {
      const auto* entry = one.find_entry(key);
      if (entry == nullptr || entry->value.is_null()) continue;
      findings.error(entry->key_where, "interfaces.no-address",
                     "\"" + std::string(key) + "\" needs an \"address\" of the interface",
                     "add one; without it, the addresses and routes of the interface are left alone");
    }
    return std::nullopt;
  }
  const auto parsed = parse_ipv4_interface(text_of(address));
  check_interface_address(*address, "interfaces.address", findings);
  if (!parsed) return std::nullopt;
  if (const Value* gateway = one.find("gateway"); gateway != nullptr && gateway->is_string()) {
    check_gateway(*gateway, *parsed, findings);
  }
  for (const Value& route : items_of(one.find("routes"))) check_route(route, *parsed, findings);
  return PlacedAddress{*parsed, address->where, &node};
}

/// Of two default routes with one metric, the kernel takes only one.
void check_defaults(const UnresolvedNode& node, const Value::List& interfaces, Findings& findings) {
  std::map<std::int64_t, SourceRange> seen;
  const auto add = [&](std::int64_t metric, SourceRange where) {
    const auto [first, is_new] = seen.try_emplace(metric, where);
    if (is_new) return;
    findings.error(where, "interfaces.two-defaults", node.name + " has two default routes with the same metric",
                   "keep one, or write the other as a route with a \"metric\"", {{"the other one", first->second}});
  };
  for (const Value& one : interfaces) {
    if (const Value* gateway = one.find("gateway"); gateway != nullptr && gateway->is_string()) add(0, gateway->where);
    for (const Value& route : items_of(one.find("routes"))) {
      if (is_default(route)) add(route.integer_or("metric", 0), place_of(route, "to"));
    }
  }
}

/// RDMA traffic would leave through the wrong port.
void check_beside_fabric(const PlacedAddress& own, Findings& findings) {
  for (const FabricPort& port : own.node->fabric) {
    const auto address = parse_ipv4(port.address);
    if (!address) continue;
    const Ipv4Network network = Ipv4Interface{*address, port.prefix_length}.network();
    if (!network.overlaps(own.address.network())) continue;
    findings.error(own.where, "interfaces.in-fabric-subnet",
                   "this address of " + own.node->name + " is in the fabric's subnet " + network.str(),
                   "give the fabric networks of its own in \"subnets\"", {{"the fabric's address", port.where}});
    return;
  }
}

void check_duplicates(const std::vector<PlacedAddress>& all, const UnresolvedCluster& draft, Findings& findings) {
  std::map<Ipv4, const PlacedAddress*> taken;
  for (const PlacedAddress& one : all) {
    const auto [first, is_new] = taken.try_emplace(one.address.address, &one);
    const std::string text = "the address " + one.address.address.str();
    if (!is_new) {
      findings.error(one.where, "interfaces.duplicate-address",
                     text + " already belongs to " + first->second->node->name, "",
                     {{"given here", first->second->where}});
    }
    for (const UnresolvedNode& node : draft.nodes) {
      if (&node == one.node || node.transport == TransportKind::kLocal) continue;
      if (parse_ipv4(node.address) != one.address.address) continue;
      findings.error(one.where, "interfaces.duplicate-address", text + " is the management address of " + node.name, "",
                     {{"given here", node.address_where}});
    }
  }
}

/// Answers of both leave through one of them, and it answers for the addresses of both.
void warn_of_shared_networks(const std::vector<PlacedAddress>& of_node, Findings& findings) {
  for (std::size_t later = 1; later < of_node.size(); ++later) {
    for (std::size_t earlier = 0; earlier < later; ++earlier) {
      const Ipv4Network network = of_node[later].address.network();
      if (!of_node[earlier].address.network().overlaps(network)) continue;
      findings.warning(of_node[later].where, "interfaces.one-subnet",
                       "two interfaces of " + of_node[later].node->name + " are in the subnet " + network.str() +
                           ": the traffic of both uses one of them",
                       "leave out one of the two", {{"the other interface", of_node[earlier].where}});
      break;
    }
  }
}

}  // namespace

void resolve_interfaces(UnresolvedCluster& draft, Findings& findings) {
  std::vector<PlacedAddress> all;
  for (UnresolvedNode& node : draft.nodes) {
    const Value* interfaces = node.record->find("interfaces");
    const Value::List& records = items_of(interfaces);
    if (records.empty()) continue;
    check_names(node, records, findings);
    check_hcas(node, records, findings);
    check_defaults(node, records, findings);
    std::vector<PlacedAddress> of_node;
    for (const Value& one : records) {
      if (const auto address = check_interface(node, one, findings)) of_node.push_back(*address);
    }
    for (const PlacedAddress& one : of_node) check_beside_fabric(one, findings);
    warn_of_shared_networks(of_node, findings);
    all.insert(all.end(), of_node.begin(), of_node.end());
    Value& section = node.sections.try_emplace("fabric", Value::map()).first->second;
    if (!section.where.known()) section.where = interfaces->where;
    section.set(kOtherInterfaces, without_nulls(*interfaces));
  }
  check_duplicates(all, draft, findings);
}

}  // namespace sparkplan
