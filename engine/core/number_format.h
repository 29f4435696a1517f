#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/value.h"

namespace sparkplan {

/// Reads "4096" as the number 4096, so that a file need not quote it. Texts that change when read as a number and
/// written again ("007", "1.5", "-1", "") stay text.
Value number_or_text(std::string_view text);

/// The fewest of 15 to 17 digits that read back as the same number: "0.1", "1e+22", "inf", "nan". The decimal separator
/// is a point in every user's locale, because the program never calls setlocale(). Not std::to_chars(): its tables
/// would be a thirtieth of the agent's size.
std::string real_text(double number);

/// A file's permission bits as four octal digits: "0644".
std::string file_mode_text(std::uint32_t mode);

}  // namespace sparkplan
