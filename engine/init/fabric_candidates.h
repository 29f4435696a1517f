#pragma once

#include <vector>

#include "engine/init/fabric_found.h"
#include "engine/init/members.h"

namespace sparkplan {

/// Pure. Every `fabric` section without entries of nodes that might derive the found interfaces, the plainest first.
/// `found` has one entry per member; empty entries impose nothing.
std::vector<Value> fabric_candidates(const Members& members, const std::vector<FoundFabric>& found);

/// The networks of the halves of direct and switch, as the first member with addresses has them.
std::vector<std::string> networks_of_halves(const std::vector<FoundFabric>& found);

}  // namespace sparkplan
