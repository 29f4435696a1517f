// What configures the network, and where packets go: NetworkManager, netplan, routes.
#include <algorithm>
#include <array>
#include <charconv>

#include "engine/doctor/examinations.h"
#include "engine/model/ipv4.h"

namespace sparkplan {
namespace {

constexpr std::uint32_t kForOthers = 0077;

std::string no_halves(const ExaminedNode& node) {
  if (!node.facts->live) return "nothing is running there";
  return node.halves.empty() ? "no fabric declared" : "";
}

Opinion twins_share(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_halves(node); !why.empty()) return skip(std::move(why));
  // As the kernel has them, whatever the file says: that is where packets go.
  std::vector<std::pair<std::string, std::string>> addresses;
  for (const ExaminedHalf& half : node.halves) {
    if (half.link == nullptr) continue;
    for (const auto& address : half.link->addresses) {
      // All of them are in 169.254.0.0/16 where the file asks for it, and each peer is named with its interface.
      if (half.link_local && address.starts_with("169.254.")) continue;
      addresses.emplace_back(half.interface, address);
    }
  }
  Complaints complaints;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    for (std::size_t j = i + 1; j < addresses.size(); ++j) {
      const auto one = parse_ipv4_network(addresses[i].second);
      const auto other = parse_ipv4_network(addresses[j].second);
      if (addresses[i].first == addresses[j].first || !one || !other || !one->overlaps(*other)) continue;
      complaints.add(addresses[i].first + " with " + addresses[i].second + " and " + addresses[j].first + " with " +
                     addresses[j].second + " are in one network");
    }
  }
  return complaints.as(Verdict::kFail);
}

bool takes(const NetworkProfile& profile, const ExaminedHalf& half) {
  const bool ethernet = profile.type.empty() || profile.type == "ethernet";
  if (!profile.interface.empty()) return profile.interface == half.interface;
  const bool named = half.link != nullptr && !profile.mac.empty();
  return ethernet && (named ? profile.mac == half.link->mac : profile.mac.empty());
}

Opinion dhcp_profile(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (node.halves.empty()) return skip("no fabric declared");
  const auto& renderers = node.facts->host.renderers;
  const bool manager = std::find(renderers.begin(), renderers.end(), "NetworkManager") != renderers.end();
  if (!manager && node.facts->host.network_profiles.empty()) return skip("there is no NetworkManager");
  Complaints complaints;
  for (const NetworkProfile& profile : node.facts->host.network_profiles) {
    if (!profile.autoconnect || profile.origin == ProfileOrigin::kNetplan || profile.method != "auto") continue;
    for (const ExaminedHalf& half : node.halves) {
      if (takes(profile, half)) complaints.add("\"" + profile.id + "\" gets addresses by DHCP on " + half.interface);
    }
  }
  return complaints.as(Verdict::kFail);
}

Opinion netplan_mode(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  const auto& files = node.facts->host.netplan_files;
  if (files.empty()) return skip("no netplan files");
  Complaints complaints;
  for (const NetplanFileFacts& file : files) {
    if ((file.mode & kForOthers) == 0) continue;
    std::array<char, 16> mode{};
    std::to_chars(mode.data(), mode.data() + mode.size(), file.mode & 07777U, 8);
    complaints.add(file.path + " has mode 0" + mode.data());
  }
  return complaints.as(Verdict::kWarn);
}

Opinion netplan_unreadable(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  const auto* extended = extended_of(node);
  if (extended == nullptr || !node.facts->live) return skip("nothing is running there");
  if (node.facts->host.netplan_files.empty()) return skip("no netplan files");
  if (!extended->netplan_error.empty()) return fail(extended->netplan_error);
  return extended->netplan_merged.empty() ? skip("there is no netplan") : pass();
}

bool is_default(const RouteFacts& route) { return route.destination == "0.0.0.0/0" || route.destination == "::/0"; }

Opinion default_route(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_halves(node); !why.empty()) return skip(std::move(why));
  Complaints complaints;
  for (const RouteFacts& route : node.facts->host.routes) {
    if (is_default(route) && half_with(node, route.interface) != nullptr) {
      complaints.add("a default route goes through " + route.interface +
                     (route.gateway.empty() ? "" : " to " + route.gateway));
    }
  }
  return complaints.as(Verdict::kFail);
}

Opinion route_elsewhere(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_halves(node); !why.empty()) return skip(std::move(why));
  Complaints complaints;
  Complaints unclear;
  for (const RouteFacts& route : node.facts->host.routes) {
    const auto network = parse_ipv4_network(route.destination);
    if (!network || network->prefix_length == 0 || half_with(node, route.interface) != nullptr) continue;
    for (const ExaminedHalf& half : node.halves) {
      const auto own = parse_ipv4(half.address);
      if (!own || !network->overlaps(Ipv4Interface{*own, half.prefix_length}.network())) continue;
      const std::string other_way = route.interface + ", not " + half.interface;
      if (route.stands_for > 1) {
        unclear.add(std::to_string(route.stands_for) + " routes to parts of " + route.destination + " go through " +
                    other_way + ": there are too many to tell each");
      } else if (network->prefix_length >= half.prefix_length) {
        // What holds all of the fabric's network, as 10.0.0.0/8 may, is only looked up where nothing better fits.
        complaints.add(route.destination + " goes through " + other_way);
      }
    }
  }
  if (!complaints.any() && unclear.any()) return unclear.as(Verdict::kSkip);
  return complaints.as(Verdict::kFail);
}

Opinion route_linkdown(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (!node.facts->live) return skip("nothing is running there");
  Complaints complaints;
  for (const RouteFacts& route : node.facts->host.routes) {
    // That of a declared interface follows from its carrier, which has a row of its own.
    if (!route.link_down || half_with(node, route.interface) != nullptr) continue;
    const std::string who = route.stands_for == 1
                                ? route.destination + " goes"
                                : std::to_string(route.stands_for) + " routes to parts of " + route.destination + " go";
    complaints.add(who + " through " + route.interface + ", which has no carrier");
  }
  return complaints.as(Verdict::kWarn);
}

Opinion rp_filter(const ExaminedCluster& /*cluster*/, const ExaminedNode& node) {
  if (auto why = no_halves(node); !why.empty()) return skip(std::move(why));
  const auto* extended = extended_of(node);
  if (extended == nullptr) return skip("not asked");
  Complaints complaints;
  bool any = false;
  const auto all = extended->sysctl.find("net.ipv4.conf.all.rp_filter");
  for (const ExaminedHalf& half : node.halves) {
    const auto own = extended->sysctl.find("net.ipv4.conf." + half.interface + ".rp_filter");
    if (own == extended->sysctl.end()) continue;
    any = true;
    // The larger of the two holds; 1 is strict. Source: the kernel's ip-sysctl.rst.
    const auto value = all == extended->sysctl.end() ? own->second : std::max(own->second, all->second);
    if (value == "1") complaints.add("rp_filter of " + half.interface + " is 1");
  }
  if (!any) return skip("no interface of the fabric has an RDMA device");
  return complaints.as(Verdict::kWarn);
}

constexpr auto kExaminations = std::to_array<Examination>({
    {"twins-share-network", twins_share},
    {"profile-dhcp", dhcp_profile, nullptr, {{"network_profiles"}}},
    {"netplan-mode", netplan_mode, nullptr, {{"netplan_files"}}},
    {"netplan-refuses", netplan_unreadable, nullptr, {{"netplan_files", "netplan_merged"}}},
    {"route-default", default_route, nullptr, {{"routes"}}},
    {"route-elsewhere", route_elsewhere, nullptr, {{"routes"}}},
    {"route-link-down", route_linkdown, nullptr, {{"routes"}}},
    {"firewall-drops", firewall_drops, nullptr, {{"firewall"}}},
    {"rp-filter-strict", rp_filter},
});

}  // namespace

std::span<const Examination> network_examinations() { return kExaminations; }

}  // namespace sparkplan
