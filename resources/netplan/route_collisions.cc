#include "resources/netplan/route_collisions.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>

#include "engine/model/ipv4.h"

namespace sparkplan::netplan {
namespace {

/// 0.0.0.0/1 and 128.0.0.0/1 are a default route, as some VPNs write it.
constexpr int kLongestDefault = 1;
constexpr int kBits = 32;

struct Network {
  std::uint32_t base = 0;
  int length = 0;

  auto operator<=>(const Network&) const = default;

  static std::uint32_t mask(int length) { return length == 0 ? 0 : ~std::uint32_t{0} << (kBits - length); }
  bool overlaps(const Network& other) const {
    const std::uint32_t both = mask(std::min(length, other.length));
    return (base & both) == (other.base & both);
  }
};

/// "192.168.100.11/24"; nothing for IPv6 and what is none.
std::optional<Network> network_in(const std::string& text) {
  const auto slash = text.find('/');
  const auto number = ipv4_number(text.substr(0, slash));
  if (!number) return std::nullopt;
  Network network{*number, kBits};
  if (slash != std::string::npos) {
    const auto [end, error] = std::from_chars(text.data() + slash + 1, text.data() + text.size(), network.length);
    if (error != std::errc() || end != text.data() + text.size() || network.length < 0 || network.length > kBits) {
      return std::nullopt;
    }
  }
  network.base &= Network::mask(network.length);
  return network;
}

std::string text_of(const Network& network) {
  const in_addr address{htonl(network.base)};
  char text[INET_ADDRSTRLEN]{};
  ::inet_ntop(AF_INET, &address, text, sizeof text);
  return std::string(text) + "/" + std::to_string(network.length);
}

struct PlacedNetwork {
  Network network;
  SourceRange where;
};

std::vector<PlacedNetwork> networks_of(const std::vector<FabricInterface>& fabric, const Value& section) {
  std::vector<PlacedNetwork> networks;
  std::set<Network> known;
  const auto add = [&](const std::string& text, const SourceRange& where) {
    const auto network = network_in(text);
    if (network && known.insert(*network).second) networks.push_back({*network, where});
  };
  for (const FabricInterface& one : fabric) {
    if (!one.wanted.address.empty()) {
      add(one.wanted.address + "/" + std::to_string(one.wanted.prefix_length), one.wanted.where);
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
  finding.message = "the fabric subnet " + text_of(subnet.network) + " overlaps " + route.destination + ", which " +
                    node + " reaches through " + route.interface +
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

Diagnostic cannot_tell(const std::string& node, const std::string& why, const SourceRange& where) {
  Diagnostic finding;
  finding.code = "fabric.routes-unreadable";
  finding.message =
      "the routes of " + node + " could not be read, so nobody knows what the fabric's subnets would cut off: " + why;
  finding.hint = "`ip route show table all` on the node shows what there is";
  finding.where = where;
  finding.node = node;
  return finding;
}

}  // namespace

std::vector<Diagnostic> route_collisions(const std::string& node, const std::vector<FabricInterface>& fabric,
                                         const std::vector<std::string>& configured, const Value& section,
                                         const Facts& own) {
  std::vector<Diagnostic> found;
  if (const auto why = own.host.unreadable.find("routes"); why != own.host.unreadable.end()) {
    found.push_back(cannot_tell(node, why->second, section.where));
    return found;
  }
  const auto networks = networks_of(fabric, section);
  for (const RouteFacts& route : own.host.routes) {
    const bool ours = std::find(configured.begin(), configured.end(), route.interface) != configured.end() ||
                      std::any_of(fabric.begin(), fabric.end(),
                                  [&](const FabricInterface& one) { return one.name == route.interface; });
    const auto destination = network_in(route.destination);
    if (ours || !destination || destination->length <= kLongestDefault) continue;
    const auto hit = std::find_if(networks.begin(), networks.end(),
                                  [&](const PlacedNetwork& subnet) { return subnet.network.overlaps(*destination); });
    if (hit == networks.end()) continue;
    // The kernel has the same way in several tables, and one for each of an interface's addresses.
    Diagnostic finding = collision(node, *hit, route);
    if (std::find(found.begin(), found.end(), finding) == found.end()) found.push_back(std::move(finding));
  }
  return found;
}

}  // namespace sparkplan::netplan
