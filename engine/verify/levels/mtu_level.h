#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Each half of each pair, both directions: does a small packet get there, and one of the declared MTU in one piece?
std::vector<Check> verify_mtu(VerifyContext& context);

}  // namespace sparkplan
