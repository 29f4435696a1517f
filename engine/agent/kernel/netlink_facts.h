#pragma once

#include <vector>

#include "engine/core/result.h"
#include "engine/model/extended_facts.h"
#include "engine/model/host_facts.h"

namespace sparkplan {

/// Every unicast route of every table but "local", one entry per next hop; without the kernel's fe80::/64 and
/// ff00::/8 of each interface; of more than 4096 what a RouteMerger makes of them. Errors: kFailed; kUnsupported where
/// that are as many.
Result<std::vector<RouteFacts>> read_all_routes();

/// Neighbours that the kernel knows something of. Errors: kFailed.
Result<std::vector<NeighbourFacts>> read_neighbours();

}  // namespace sparkplan
