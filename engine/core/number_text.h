#pragma once

#include <string>
#include <string_view>

#include "engine/core/value.h"

namespace sparkplan {

/// "4096" as the number 4096, so that a file need not quote it; anything that a number would not be written like
/// again ("007", "1.5", "-1", "") stays text.
Value number_or_text(std::string_view text);

/// As few of 15 to 17 digits as read back as the same number: "0.1", "1e+22", "inf", "nan".
/// With a point whatever the user's locale, as nobody calls setlocale(). Not by std::to_chars(), whose tables would be
/// a thirtieth of the agent.
std::string real_text(double number);

}  // namespace sparkplan
