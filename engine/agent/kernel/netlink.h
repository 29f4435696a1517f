#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// All network interfaces except the loopback, with their addresses, by name. Errors: kFailed.
/// Source: rtnetlink(7); port, PCI function, driver and RDMA devices: /sys/class/net.
Result<std::vector<LinkFacts>> read_links();

/// A route of the main table that leaves through one interface. Source: rtnetlink(7), RTM_NEWROUTE.
struct KernelRoute {
  std::string interface;
  std::string destination;  ///< "default", "10.0.0.0/8"
  std::string gateway;      ///< Empty: on the link.
  int metric = 0;
  int protocol = 0;

  bool operator==(const KernelRoute&) const = default;
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
