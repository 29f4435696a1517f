#include "resources/netplan/interfaces.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string_view>

#include "engine/core/diagnostic.h"
#include "engine/core/tree.h"
#include "engine/model/ipv4.h"

namespace sparkplan::netplan {
namespace {

/// Some VPNs write a default route as 0.0.0.0/1 and 128.0.0.0/1.
constexpr int kLongestDefault = 1;
/// A node may list thousands of routes, and each finding is compared with all others.
constexpr std::size_t kMostCollisions = 64;

struct PlacedNetwork {
  Ipv4Network network;
  SourceRange where;
};

std::vector<PlacedNetwork> networks_of(const std::vector<ObservedPort>& fabric, const Value& section) {
  std::vector<PlacedNetwork> networks;
  const auto add = [&](const std::string& text, const SourceRange& where) {
    const auto network = parse_ipv4_network(text);
    const bool known = std::ranges::any_of(networks, [&](const auto& one) { return one.network == network; });
    if (network && !known) networks.push_back({*network, where});
  };
  for (const ObservedPort& one : fabric) {
    if (!one.address.empty()) add(one.address_text(), one.where);
  }
  for (const Value& one : items_of(section.find("subnets"))) {
    if (one.string() != nullptr) add(*one.string(), one.where.known() ? one.where : section.where);
  }
  return networks;
}

Diagnostic collision(const PlacedNetwork& subnet, const RouteFacts& route, const std::string& node) {
  const std::string other = "set another network for the fabric in `subnets`";
  return finding("fabric.subnet-has-route",
                 "the fabric subnet " + subnet.network.str() + " overlaps " + route.destination + ", which " + node +
                     " reaches through " + route.interface + (route.gateway.empty() ? "" : " via " + route.gateway),
                 route.link_down ? route.interface +
                                       " has no carrier: take it away if it is left over (`ip route` shows its "
                                       "routes), or " +
                                       other
                                 : other,
                 subnet.where);
}

/// The finding for a node with too many routes to list each.
Diagnostic may_collide(const PlacedNetwork& subnet, const RouteFacts& routes, const std::string& node) {
  return finding("fabric.routes-unreadable",
                 node + " has too many routes to list: the fabric subnet " + subnet.network.str() +
                     " may overlap one of " + std::to_string(routes.stands_for) + " through " + routes.interface +
                     " to parts of " + routes.destination,
                 "set `subnets` to a network that does not overlap " + routes.destination +
                     ", or use `link_local: ipv4`, which needs none",
                 subnet.where);
}

}  // namespace

std::vector<Diagnostic> route_collisions(const std::string& node, const std::vector<ObservedPort>& fabric,
                                         const std::vector<std::string>& configured, const Value& section,
                                         const Facts& own) {
  std::vector<Diagnostic> found;
  const auto networks = networks_of(fabric, section);
  if (networks.empty()) return found;
  if (const auto why = own.host.unreadable.find("routes"); why != own.host.unreadable.end()) {
    found.push_back(finding(
        "fabric.routes-unreadable",
        "the routes of " + node +
            " could not be read, so conflicts with the fabric's subnets cannot be detected: " + why->second,
        "run `ip route show table all` on the node, or use `link_local: ipv4`, which needs no subnets", section.where));
    found.back().node = node;
    return found;
  }
  std::set<std::string_view> ours(configured.begin(), configured.end());
  for (const ObservedPort& one : fabric) ours.insert(one.interface);
  for (const RouteFacts& route : own.host.routes) {
    if (found.size() == kMostCollisions) break;
    const auto destination = parse_ipv4_network(route.destination);
    if (ours.contains(route.interface) || !destination || destination->prefix_length <= kLongestDefault) continue;
    const auto hit = std::ranges::find_if(
        networks, [&](const PlacedNetwork& subnet) { return subnet.network.overlaps(*destination); });
    if (hit == networks.end()) continue;
    // The kernel has the same route in several tables, and one per address of an interface.
    Diagnostic one = route.stands_for == 1 ? collision(*hit, route, node) : may_collide(*hit, route, node);
    one.node = node;
    if (std::ranges::find(found, one) == found.end()) found.push_back(std::move(one));
  }
  return found;
}

}  // namespace sparkplan::netplan
