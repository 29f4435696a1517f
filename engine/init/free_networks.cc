#include "engine/init/free_networks.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/load/address.h"
#include "engine/load/fabric.h"

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

}  // namespace

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

}  // namespace sparkplan
