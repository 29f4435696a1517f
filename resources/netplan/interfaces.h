#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/model/facts.h"
#include "engine/resource/resource_type.h"
#include "resources/netplan/netplan_file.h"

namespace sparkplan::netplan {

/// An interface of the node, and what our file says about it.
struct WantedInterface {
  ObservedPort port;
  Stanza stanza;
};

struct WantedInterfaces {
  std::vector<WantedInterface> all;  ///< The fabric's first, then those of `interfaces`.
  /// Why some have no name; also a name that is in both lists, "interfaces.also-fabric", which leaves `all` empty.
  std::vector<Diagnostic> diagnostics;
};

/// Pure. The interfaces of the node's section: of the fabric, and `interfaces` beside it.
WantedInterfaces wanted_interfaces(const ClusterView& view, const Value& section, const Facts& own, Renderer renderer);

/// Pure. A node's own `fabric` that declares the `applied` values (interface to value), half A of each port first:
/// {interfaces: [{name, address?, mtu, link_local?}]}. Those beside the fabric are below kOtherInterfaces, as records
/// of the node's `interfaces`. `adopt` is added if foreign definitions were taken over. An MTU that is not managed is
/// null. Nothing if a value cannot be declared, such as one with several addresses.
std::optional<Value> interfaces_from(const ValuesByName& applied, const Facts& own);

/// The shapes of values that a node may report of fabric interfaces and links, and export of other netplan files.
ReportedShapes reported_interfaces();

/// Pure. Fabric subnets, and `subnets` of `section`, that the node already reaches through another interface: its home
/// network, a VPN, a container bridge, a stale bond. Each is an error at the place that names the subnet,
/// "fabric.subnet-has-route". Default routes do not count, nor their two halves as VPNs write them. Routes through an
/// interface of the fabric do not count, nor those through one of `configured`, which our file still has. If the routes
/// are unreadable, or too many to be listed one by one, that is an error: "fabric.routes-unreadable". Empty for a
/// fabric without subnets.
std::vector<Diagnostic> route_collisions(const std::string& node, const std::vector<ObservedPort>& fabric,
                                         const std::vector<std::string>& configured, const Value& section,
                                         const Facts& own);

}  // namespace sparkplan::netplan
