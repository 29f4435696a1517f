#include "engine/core/file_mode.h"

namespace sparkplan {

std::string file_mode_text(std::uint32_t mode) {
  std::string text = "0000";
  for (std::size_t digit = text.size(); digit-- > 0; mode >>= 3U) text[digit] = static_cast<char>('0' + (mode & 7U));
  return text;
}

}  // namespace sparkplan
