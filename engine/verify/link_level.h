#pragma once

#include <vector>

#include "engine/verify/scene.h"

namespace sparkplan {

/// Each half of each node's fabric: there, up, with a carrier, the declared MTU and address, and nobody else's.
std::vector<Check> verify_links(Scene& scene);

}  // namespace sparkplan
