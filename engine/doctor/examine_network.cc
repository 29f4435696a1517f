// Network configuration and routing: NetworkManager, netplan, routes.
#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "engine/doctor/examinations.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

constexpr std::uint32_t kForOthers = 0077;
/// Of one half. A node may report thousands, and each is compared with those of the other halves.
constexpr std::size_t kMostComparedAddresses = 64;

/// An address of the fabric in the kernel.
struct KernelAddress {
  const std::string* interface;
  const std::string* text;
  Ipv4Network network;
};

/// The kernel's addresses, whatever the file declares: they decide the path of packets.
std::vector<KernelAddress> kernel_addresses(const ExaminedNode& node) {
  std::vector<KernelAddress> addresses;
  for (const ObservedPort& half : node.halves) {
    if (half.link == nullptr) continue;
    const std::span all(half.link->addresses);
    for (const auto& address : all.first(std::min(all.size(), kMostComparedAddresses))) {
      // Link-local addresses are all in 169.254.0.0/16 if the file asks for them. Connections then name the interface
      // of each peer.
      if (half.link_local && address.starts_with("169.254.")) continue;
      if (const auto network = parse_ipv4_network(address)) addresses.push_back({&half.interface, &address, *network});
    }
  }
  return addresses;
}

Verdict twins_share(const ExaminedNode& node) {
  const std::vector<KernelAddress> addresses = kernel_addresses(node);
  Complaints complaints;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    for (std::size_t j = i + 1; j < addresses.size(); ++j) {
      const KernelAddress& one = addresses[i];
      const KernelAddress& other = addresses[j];
      if (*one.interface == *other.interface || !one.network.overlaps(other.network)) continue;
      complaints.add(*one.interface + " with " + *one.text + " and " + *other.interface + " with " + *other.text +
                     " are in the same network");
    }
  }
  return complaints.as(CheckStatus::kFail);
}

/// The interface has what cluster.yaml declares for it, so its declared profile is the active one.
bool is_configured(const ObservedPort& half) {
  if (half.link == nullptr) return false;
  const auto& addresses = half.link->addresses;
  return std::any_of(addresses.begin(), addresses.end(), [&](const std::string& address) {
    return half.address.empty() ? half.link_local && address.starts_with("169.254.") : address == half.address_text();
  });
}

bool takes(const NetworkProfile& profile, const ObservedPort& half) {
  const bool ethernet = profile.type.empty() || profile.type == "ethernet";
  if (!profile.interface.empty()) return profile.interface == half.interface;
  const bool named = half.link != nullptr && !profile.mac.empty();
  return ethernet && (named ? profile.mac == half.link->mac : profile.mac.empty());
}

Verdict dhcp_profile(const ExaminedNode& node) {
  const auto& renderers = node.facts->host.renderers;
  const bool manager = std::find(renderers.begin(), renderers.end(), "NetworkManager") != renderers.end();
  if (!manager && node.facts->host.network_profiles.empty()) return skip("there is no NetworkManager");
  Complaints complaints;
  for (const NetworkProfile& profile : node.facts->host.network_profiles) {
    if (!profile.autoconnect || profile.origin == ProfileOrigin::kNetplan || profile.method != "auto") continue;
    for (const ObservedPort& half : node.halves) {
      // A generated profile has the lowest priority, and gives way to the declared one at every boot.
      const bool gives_way = profile.origin == ProfileOrigin::kGenerated && is_configured(half);
      if (takes(profile, half) && !gives_way)
        complaints.add("\"" + profile.id + "\" gets addresses by DHCP on " + half.interface);
    }
  }
  return complaints.as(CheckStatus::kFail);
}

Verdict netplan_mode(const ExaminedNode& node) {
  const auto& files = node.facts->host.netplan_files;
  if (files.empty()) return skip("no netplan files");
  Complaints complaints;
  for (const NetplanFileFacts& file : files) {
    if ((file.mode & kForOthers) == 0) continue;
    std::array<char, 16> mode{};
    std::to_chars(mode.data(), mode.data() + mode.size(), file.mode & 07777U, 8);
    complaints.add(file.path + " has mode 0" + mode.data());
  }
  return complaints.as(CheckStatus::kWarn);
}

Verdict netplan_unreadable(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  if (node.facts->host.netplan_files.empty()) return skip("no netplan files");
  if (!extended.netplan_error.empty()) return fail(extended.netplan_error);
  return extended.netplan_merged.empty() ? skip("there is no netplan") : pass();
}

bool is_default(const RouteFacts& route) { return route.destination == "0.0.0.0/0" || route.destination == "::/0"; }

Verdict default_route(const ExaminedNode& node) {
  Complaints complaints;
  for (const RouteFacts& route : node.facts->host.routes) {
    if (is_default(route) && half_with(node, route.interface) != nullptr) {
      complaints.add("a default route goes through " + route.interface +
                     (route.gateway.empty() ? "" : " to " + route.gateway));
    }
  }
  return complaints.as(CheckStatus::kFail);
}

Verdict route_elsewhere(const ExaminedNode& node) {
  Complaints complaints;
  Complaints unclear;
  for (const RouteFacts& route : node.facts->host.routes) {
    const auto network = parse_ipv4_network(route.destination);
    if (!network || network->prefix_length == 0 || half_with(node, route.interface) != nullptr) continue;
    for (const ObservedPort& half : node.halves) {
      const auto own = parse_ipv4(half.address);
      if (!own || !network->overlaps(Ipv4Interface{*own, half.prefix_length}.network())) continue;
      const std::string other_way = route.interface + ", not " + half.interface;
      if (route.stands_for > 1) {
        unclear.add(std::to_string(route.stands_for) + " routes to parts of " + route.destination + " go through " +
                    other_way + ": too many to list");
      } else if (network->prefix_length >= half.prefix_length) {
        // A wider route, such as 10.0.0.0/8, only applies where no narrower route does.
        complaints.add(route.destination + " goes through " + other_way);
      }
    }
  }
  if (!complaints.any() && unclear.any()) return unclear.as(CheckStatus::kSkip);
  return complaints.as(CheckStatus::kFail);
}

bool is_bridge(const ExaminedNode& node, const std::string& interface) {
  const auto& links = node.facts->links;
  return std::any_of(links.begin(), links.end(),
                     [&](const LinkFacts& link) { return link.name == interface && link.kind == "bridge"; });
}

Verdict route_linkdown(const ExaminedNode& node) {
  Complaints complaints;
  for (const RouteFacts& route : node.facts->host.routes) {
    // Routes of a declared interface follow from its carrier: row link-no-carrier.
    if (!route.link_down || half_with(node, route.interface) != nullptr) continue;
    // Docker's bridge has no carrier while no container runs.
    if (is_bridge(node, route.interface)) continue;
    const std::string who = route.stands_for == 1
                                ? route.destination + " goes"
                                : std::to_string(route.stands_for) + " routes to parts of " + route.destination + " go";
    complaints.add(who + " through " + route.interface + ", which has no carrier");
  }
  return complaints.as(CheckStatus::kWarn);
}

Verdict rp_filter(const ExaminedNode& node) {
  const auto& extended = extended_of(node);
  Complaints complaints;
  bool any = false;
  const auto all = extended.sysctl.find("net.ipv4.conf.all.rp_filter");
  for (const ObservedPort& half : node.halves) {
    const auto own = extended.sysctl.find("net.ipv4.conf." + half.interface + ".rp_filter");
    if (own == extended.sysctl.end()) continue;
    any = true;
    // The larger of the two holds; 1 is strict. Source: the kernel's ip-sysctl.rst.
    const auto value = all == extended.sysctl.end() ? own->second : std::max(own->second, all->second);
    if (value == "1") complaints.add("rp_filter of " + half.interface + " is 1");
  }
  if (!any) return skip("no interface of the fabric has an RDMA device");
  return complaints.as(CheckStatus::kWarn);
}

constexpr Needs kFabricRuns{Need::kRunning, Need::kFabric};
constexpr auto kNetworkExaminations = std::to_array<Examination>({
    {"twins-share-network", twins_share, kFabricRuns},
    {"profile-dhcp", dhcp_profile, {Need::kFabric}, {{"network_profiles"}}},
    {"netplan-mode", netplan_mode, {}, {{"netplan_files"}}},
    {"netplan-refuses", netplan_unreadable, {Need::kRunning, Need::kExtended}, {{"netplan_files", "netplan_merged"}}},
    {"route-default", default_route, kFabricRuns, {{"routes"}}},
    {"route-elsewhere", route_elsewhere, kFabricRuns, {{"routes"}}},
    {"route-link-down", route_linkdown, {Need::kRunning}, {{"routes"}}},
    {"firewall-drops", firewall_drops, {Need::kRunning, Need::kFabric, Need::kExtended}, {{"firewall"}}},
    {"forward-drops", forward_drops, {Need::kRunning, Need::kFabric, Need::kExtended}, {{"firewall", "sysctl"}}},
    {"rp-filter-strict", rp_filter, {Need::kRunning, Need::kFabric, Need::kExtended}, {{"sysctl"}}},
});

}  // namespace

std::span<const Examination> network_examinations() { return kNetworkExaminations; }

}  // namespace sparkplan
