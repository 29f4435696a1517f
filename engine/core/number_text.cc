#include "engine/core/number_text.h"

#include <charconv>

namespace sparkplan {

Value number_or_text(std::string_view text) {
  constexpr std::size_t kSafeDigits = 18;
  const bool digits = !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
  if (!digits || text.size() > kSafeDigits || (text.front() == '0' && text.size() > 1)) return text;
  std::int64_t number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace sparkplan
