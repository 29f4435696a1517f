#include "engine/core/number_format.h"

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>

namespace sparkplan {

Value number_or_text(std::string_view text) {
  constexpr std::size_t kSafeDigits = 18;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits || text.size() > kSafeDigits || (text.front() == '0' && text.size() > 1)) return text;
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

std::string real_text(double number) {
  std::array<char, 32> buffer{};  // A sign, 17 digits, a point and "e-324".
  for (int digits = 15; digits <= 17; ++digits) {
    std::snprintf(buffer.data(), buffer.size(), "%.*g", digits, number);
    if (std::strtod(buffer.data(), nullptr) == number) break;
  }
  return buffer.data();
}

std::string file_mode_text(std::uint32_t mode) {
  std::string text = "0000";
  for (std::size_t digit = text.size(); digit-- > 0; mode >>= 3U) text[digit] = static_cast<char>('0' + (mode & 7U));
  return text;
}

}  // namespace sparkplan
