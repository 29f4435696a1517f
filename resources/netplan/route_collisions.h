#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/model/facts.h"

namespace sparkplan::netplan {

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
