#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/model/facts.h"

namespace sparkplan::netplan {

/// Pure. Subnets of the fabric that the node reaches through something else already: its home network, a VPN, a
/// container bridge, a bond that nobody has taken away. Of `section` those that the whole fabric uses count as well.
/// Errors at the place that names the subnet, "fabric.subnet-has-route"; a way for everything (a default route, or the
/// two halves that a VPN makes of it) is none, nor is one through an interface of the fabric, or one that our file has
/// `configured` so far and is about to give back. Where it is not known, as the routes could not be read or are too
/// many to be told one by one, that is an error, too: "fabric.routes-unreadable". Nothing of a fabric without subnets.
std::vector<Diagnostic> route_collisions(const std::string& node, const std::vector<ObservedPort>& fabric,
                                         const std::vector<std::string>& configured, const Value& section,
                                         const Facts& own);

}  // namespace sparkplan::netplan
