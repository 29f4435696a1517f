#pragma once

#include <vector>

#include "engine/verify/scene.h"

namespace sparkplan {

/// Climbs scene.options.levels, lowest first; a stop ends it after the check in hand. What was checked
/// is in scene.checks afterwards.
void climb(Scene& scene);

}  // namespace sparkplan
