#pragma once

#include <vector>

#include "engine/verify/scene.h"

namespace sparkplan {

/// The storage that the file declares: is it mounted, from where it shall be, can it be read, and how fast.
std::vector<Check> verify_storage(Scene& scene);

}  // namespace sparkplan
