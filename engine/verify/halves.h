#pragma once

#include <string>
#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Pure. The halves that the file gives the node, together with what the facts show of them.
std::vector<VerifyHalf> halves_of(const NodeSpec& node, const Facts& facts, const std::string& profile);

}  // namespace sparkplan
