#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/facts.h"
#include "engine/node/node.h"

namespace sparkplan {

/// All network interfaces but the loopback, with their addresses, by name. Errors: kFailed.
/// Source: rtnetlink(7); port, PCI function, driver and RDMA devices: /sys/class/net.
Result<std::vector<LinkFacts>> read_links();

/// A route of the main table that leaves through one interface. Source: rtnetlink(7), RTM_NEWROUTE.
struct Route {
  std::string interface;
  std::string destination;  ///< "default", "10.0.0.0/8"
  std::string gateway;      ///< Empty: on the link.
  int metric = 0;
  int protocol = 0;

  bool operator==(const Route&) const = default;
};

/// The routes of the main table that are not the kernel's own, one next hop each. Errors: kFailed.
Result<std::vector<Route>> read_routes();
/// One that is there already is no failure. Errors: kNotFound (no such interface), kFailed.
Result<void> add_route(const Route& route);

/// As Node::restore_link(). Errors: kNotFound, kFailed with the kernel's reason.
Result<void> write_link(const LinkState& state);

/// Every unicast route of every table but "local", one entry per next hop, without the fe80::/64 and ff00::/8 that the
/// kernel has for each interface. More than 4096 are merged by a RouteMerger. Errors: kFailed; kUnsupported where the
/// merged ones are still as many.
Result<std::vector<RouteFacts>> read_all_routes();

/// The kernel's neighbours. Errors: kFailed.
Result<std::vector<NeighbourFacts>> read_neighbours();

}  // namespace sparkplan
