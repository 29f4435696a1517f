#include "engine/core/words.h"

#include <algorithm>

namespace sparkplan {

std::vector<std::string> words_of(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n\v\f";
  std::vector<std::string> found;
  for (std::size_t at = text.find_first_not_of(kBlank); at != std::string_view::npos;) {
    const std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    found.emplace_back(text.substr(at, end - at));
    at = text.find_first_not_of(kBlank, end);
  }
  return found;
}

}  // namespace sparkplan
