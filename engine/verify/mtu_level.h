#pragma once

#include <vector>

#include "engine/verify/scene.h"

namespace sparkplan {

/// Each half of each pair, both directions: does a small packet get there, and one of the declared MTU in one piece?
std::vector<Check> verify_mtu(Scene& scene);

}  // namespace sparkplan
