#pragma once

#include <vector>

#include "engine/core/result.h"
#include "engine/model/facts.h"

namespace sparkplan {

/// All network interfaces but the loopback, with their addresses, by name. Errors: kFailed.
/// Source: rtnetlink(7).
Result<std::vector<LinkFacts>> read_links();

}  // namespace sparkplan
