#pragma once

#include <string_view>

#include "engine/core/value.h"

namespace sparkplan {

/// "4096" as the number 4096, so that a file need not quote it; anything that a number would not be written like
/// again ("007", "1.5", "-1", "") stays text.
Value number_or_text(std::string_view text);

}  // namespace sparkplan
