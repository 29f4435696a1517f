#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// Climbs context.options.levels, lowest first; a stop ends it after the check in hand. What was checked
/// is in context.checks afterwards.
void run_levels(VerifyContext& context);

}  // namespace sparkplan
