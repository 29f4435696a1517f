#pragma once

#include <vector>

#include "engine/init/fabric_found.h"
#include "engine/init/members.h"

namespace sparkplan {

/// Pure. Every `fabric` section without a word of the nodes that might derive what was found, the plainest first.
/// `found` has one entry per member; those of an empty one are not asked about.
std::vector<Value> fabric_candidates(const Members& members, const std::vector<FoundFabric>& found);

/// The networks of the halves of direct and switch, as the first member with addresses has them.
std::vector<std::string> networks_of_halves(const std::vector<FoundFabric>& found);

}  // namespace sparkplan
