#include "resources/netplan/route_collisions.h"

#include <algorithm>
#include <optional>

#include "engine/model/ipv4.h"

namespace sparkplan::netplan {
namespace {

/// 0.0.0.0/1 and 128.0.0.0/1 are a default route, as some VPNs write it.
constexpr int kLongestDefault = 1;
struct PlacedNetwork {
  Ipv4Network network;
  SourceRange where;
};

std::vector<PlacedNetwork> networks_of(const std::vector<ObservedPort>& fabric, const Value& section) {
  std::vector<PlacedNetwork> networks;
  const auto add = [&](const std::string& text, const SourceRange& where) {
    const auto network = parse_ipv4_network(text);
    const bool known =
        std::any_of(networks.begin(), networks.end(), [&](const auto& one) { return one.network == network; });
    if (network && !known) networks.push_back({*network, where});
  };
  for (const ObservedPort& one : fabric) {
    if (!one.address.empty()) {
      add(one.address + "/" + std::to_string(one.prefix_length), one.where);
    }
  }
  const Value* subnets = section.find("subnets");
  if (subnets == nullptr || subnets->list_items() == nullptr) return networks;
  for (const Value& one : *subnets->list_items()) {
    if (one.string() != nullptr) add(*one.string(), one.where.known() ? one.where : section.where);
  }
  return networks;
}

Diagnostic collision(const std::string& node, const PlacedNetwork& subnet, const RouteFacts& route) {
  Diagnostic finding;
  finding.code = "fabric.subnet-has-route";
  finding.message = "the fabric subnet " + subnet.network.str() + " overlaps " + route.destination + ", which " + node +
                    " reaches through " + route.interface +
                    (route.gateway.empty() ? "" : " by way of " + route.gateway);
  finding.hint = route.link_down
                     ? route.interface +
                           " has no carrier: take it away if it is left over (`ip route` shows its routes), "
                           "or take another network for the fabric: `subnets` names them"
                     : "take another network for the fabric: `subnets` names them";
  finding.where = subnet.where;
  finding.node = node;
  return finding;
}

/// Where the node has so many routes that it does not name each.
Diagnostic may_collide(const std::string& node, const PlacedNetwork& subnet, const RouteFacts& routes) {
  Diagnostic finding;
  finding.code = "fabric.routes-unreadable";
  finding.message = node + " has too many routes to tell each, and nobody knows whether the fabric subnet " +
                    subnet.network.str() + " overlaps one of the " + std::to_string(routes.stands_for) + " through " +
                    routes.interface + " to parts of " + routes.destination;
  finding.hint = "take a network for the fabric that does not overlap " + routes.destination +
                 ": `subnets` names them; `link_local: ipv4` needs none";
  finding.where = subnet.where;
  finding.node = node;
  return finding;
}

Diagnostic cannot_tell(const std::string& node, const std::string& why, const SourceRange& where) {
  Diagnostic finding;
  finding.code = "fabric.routes-unreadable";
  finding.message =
      "the routes of " + node + " could not be read, so nobody knows what the fabric's subnets would cut off: " + why;
  finding.hint = "`ip route show table all` on the node shows what there is; `link_local: ipv4` needs no subnets";
  finding.where = where;
  finding.node = node;
  return finding;
}

}  // namespace

std::vector<Diagnostic> route_collisions(const std::string& node, const std::vector<ObservedPort>& fabric,
                                         const std::vector<std::string>& configured, const Value& section,
                                         const Facts& own) {
  std::vector<Diagnostic> found;
  const auto networks = networks_of(fabric, section);
  if (networks.empty()) return found;
  if (const auto why = own.host.unreadable.find("routes"); why != own.host.unreadable.end()) {
    found.push_back(cannot_tell(node, why->second, section.where));
    return found;
  }
  for (const RouteFacts& route : own.host.routes) {
    const bool ours = std::find(configured.begin(), configured.end(), route.interface) != configured.end() ||
                      std::any_of(fabric.begin(), fabric.end(),
                                  [&](const ObservedPort& one) { return one.interface == route.interface; });
    const auto destination = parse_ipv4_network(route.destination);
    if (ours || !destination || destination->prefix_length <= kLongestDefault) continue;
    const auto hit = std::find_if(networks.begin(), networks.end(),
                                  [&](const PlacedNetwork& subnet) { return subnet.network.overlaps(*destination); });
    if (hit == networks.end()) continue;
    // The kernel has the same way in several tables, and one for each of an interface's addresses.
    Diagnostic finding = route.stands_for == 1 ? collision(node, *hit, route) : may_collide(node, *hit, route);
    if (std::find(found.begin(), found.end(), finding) == found.end()) found.push_back(std::move(finding));
  }
  return found;
}

}  // namespace sparkplan::netplan
