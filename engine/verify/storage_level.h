#pragma once

#include <vector>

#include "engine/verify/scene.h"

namespace sparkplan {

/// The storage that the file declares.
std::vector<Check> verify_storage(Scene& scene);

}  // namespace sparkplan
