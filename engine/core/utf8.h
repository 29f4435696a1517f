#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sparkplan {

/// One step through a text that may hold broken UTF-8.
struct CodePoint {
  char32_t value = 0;      ///< U+FFFD when broken.
  std::size_t length = 1;  ///< Bytes to advance by; for broken text the longest prefix that could have begun a
                           ///< character.
  bool valid = false;
};

/// The character at `position`, which must be inside the text.
/// Source: RFC 3629; overlong forms, surrogates and values above U+10FFFF are broken.
CodePoint code_point_at(std::string_view text, std::size_t position);

void append_utf8(std::string& out, char32_t value);

/// Characters beyond ASCII that control a terminal or are invisible: C1 controls, line and paragraph separators,
/// direction controls, everything invisible, and noncharacters. The one definition for text, JSON and XML.
///
/// Invisible characters that scripts and emoji use (U+200C, U+200D, U+FE0F) are included: two names that differ in one
/// of them look alike. The terminal shows a replacement. A program receives an escape and loses nothing.
/// Source: Unicode 15, Default_Ignorable_Code_Point, Bidi_Control, Noncharacter_Code_Point; U+FFF9 to U+FFFB.
bool is_treacherous(char32_t value);

/// The subset of is_treacherous() characters that display text in another order than it is stored. cluster.yaml may
/// contain all is_treacherous() characters but these.
/// Source: Unicode 15, Bidi_Control.
bool is_reordering(char32_t value);

}  // namespace sparkplan
