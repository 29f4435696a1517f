#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sparkplan {

/// One step through a text that may hold broken UTF-8.
struct CodePoint {
  char32_t value = 0;      ///< U+FFFD when broken.
  std::size_t length = 1;  ///< Bytes to go on by; for broken text the longest prefix that could have begun a character.
  bool valid = false;
};

/// The character at `position`, which must be inside the text.
/// Source: RFC 3629; overlong forms, surrogates and values above U+10FFFF are broken.
CodePoint code_point_at(std::string_view text, std::size_t position);

void append_utf8(std::string& out, char32_t value);

}  // namespace sparkplan
