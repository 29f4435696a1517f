#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "engine/core/value.h"

namespace sparkplan {

/// The number that is the whole text, in this base; nothing for any other text, or for a number of another range.
template <class Number = std::int64_t>
std::optional<Number> parse_number(std::string_view text, int base = 10) {
  Number number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

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
