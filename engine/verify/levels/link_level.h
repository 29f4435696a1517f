#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Each half of each node's fabric: there, up, with a carrier, the declared MTU and address, and nobody else's.
std::vector<Check> verify_links(VerifyContext& context);

}  // namespace sparkplan
