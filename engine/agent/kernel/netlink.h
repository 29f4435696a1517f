#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// All network interfaces except the loopback, with their addresses, by name. Errors: kFailed.
/// Source: rtnetlink(7); port, PCI function, driver and RDMA devices: /sys/class/net.
Result<std::vector<LinkFacts>> read_links();

/// Protocols of routes. Source: linux/rtnetlink.h, RTPROT_RA and RTPROT_DHCP.
inline constexpr int kAdvertisedRoute = 9;
inline constexpr int kDhcpRoute = 16;

/// A route of the main table that leaves through one interface. Source: rtnetlink(7), RTM_NEWROUTE.
struct KernelRoute {
  std::string interface;
  std::string destination;  ///< "default", "10.0.0.0/8"
  std::string gateway;      ///< Empty: on the link.
  int metric = 0;
  int protocol = 0;
  std::string source = {};    ///< The preferred source address: an IPv4 route ends with it. Empty: none.
  std::int64_t lifetime = 0;  ///< Seconds until an IPv6 route that has to be added ends; 0: it has no end.

  /// As the kernel distinguishes routes: source and lifetime belong to the same route.
  bool operator==(const KernelRoute& other) const {
    return interface == other.interface && destination == other.destination && gateway == other.gateway &&
           metric == other.metric && protocol == other.protocol;
  }
};

/// The routes of the main table without the kernel's own, each with one next hop. Errors: kFailed.
Result<std::vector<KernelRoute>> read_routes();
/// Adds a route; an existing route is no failure. Errors: kNotFound (no such interface), kFailed.
Result<void> add_route(const KernelRoute& route);

/// Like Node::restore_link(). Errors: kNotFound, kFailed with the kernel's reason.
Result<void> write_link(const LinkState& state);

/// Every unicast route of every table except "local", one entry per next hop. The fe80::/64 and ff00::/8 routes that
/// the kernel adds for each interface are left out. A RouteMerger merges more than 4096 routes. Errors: kFailed;
/// kUnsupported if more than 4096 remain.
Result<std::vector<RouteFacts>> read_all_routes();

/// The kernel's neighbours. Errors: kFailed.
Result<std::vector<NeighbourFacts>> read_neighbours();

}  // namespace sparkplan
