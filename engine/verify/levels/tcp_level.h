#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Each half of each pair, both directions: how much TCP carries from agent to agent.
std::vector<Check> verify_tcp(VerifyContext& context);

}  // namespace sparkplan
