#pragma once

#include <vector>

#include "engine/verify/verify_context.h"

namespace sparkplan {

/// The storage that the file declares: is it mounted, from where it shall be, can it be read, and how fast.
std::vector<Check> verify_storage(VerifyContext& context);

}  // namespace sparkplan
