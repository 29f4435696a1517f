#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace sparkplan {

/// A part of a text.
struct TextPart {
  std::size_t begin = 0;
  std::size_t size = 0;
};

/// The value of "roster" in the outermost map of a manifest's text. Nothing without such a key, or if the part that
/// this search reads is not JSON. It decodes nothing: a roster of a thousand members is only passed over.
std::optional<TextPart> find_roster_text(std::string_view manifest);

/// A JSON text without the blanks outside its strings.
std::string without_blanks(std::string_view json);

}  // namespace sparkplan
