#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/init/members.h"

namespace sparkplan {

/// Pure. `count` networks of /24 for a new fabric, in which no machine has an address or a route. An empty list if the
/// default networks are free, because then the file need not name them. Nothing if no private network is free.
std::optional<std::vector<std::string>> networks_for_new_fabric(const Members& members, std::size_t count);

}  // namespace sparkplan
