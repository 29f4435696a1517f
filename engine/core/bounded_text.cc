#include "engine/core/bounded_text.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {

std::string cut_text(std::string text, std::size_t most) {
  constexpr std::string_view kMark = " ...";
  if (text.size() <= most) return text;
  std::size_t end = most > kMark.size() ? most - kMark.size() : 0;
  // UTF-8 continuation bytes.
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  text.resize(end);
  text.shrink_to_fit();
  return text += kMark;
}

std::string shown_text(std::string_view text, std::size_t most) {
  // printable() never shortens a text.
  return cut_text(printable(text.substr(0, most + 1)), most);
}

std::string listed_value(std::string_view value, std::size_t most) {
  std::string text = shown_text(value, most);
  const bool as_missing = text == "none" || text == "unknown";
  const bool as_entry = text.find_first_of(",;\"") != std::string::npos || text.find(" on ") != std::string::npos;
  if (!as_missing && !as_entry) return text;
  std::replace(text.begin(), text.end(), '"', '\'');
  return "\"" + text + "\"";
}

Error bounded(Error error) {
  error.message = cut_text(std::move(error.message), kLongestErrorMessage);
  error.hint = cut_text(std::move(error.hint), kLongestErrorHint);
  if (error.context.size() > kMostErrorContext) error.context.resize(kMostErrorContext);
  for (auto& level : error.context) level = cut_text(std::move(level), kLongestErrorContext);
  return error;
}

}  // namespace sparkplan
