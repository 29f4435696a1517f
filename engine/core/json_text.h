#pragma once

#include <cstddef>
#include <string_view>

/// The markers of the lossless form, shared by the writer (json.cc) and the parser (json_parser.cc).
namespace sparkplan::json_text {

/// Maximum nesting of lists and maps that is parsed.
inline constexpr std::size_t kDeepest = 64;
inline constexpr std::string_view kBase64 = "$base64";
inline constexpr std::string_view kBase64Key = "$base64:";
inline constexpr std::string_view kUnknown = "$unknown";
inline constexpr std::string_view kReal = "$real";

/// The end of the characters from `begin` on that need no escape. Nearly all written text is of this kind.
inline std::size_t plain_end(std::string_view text, std::size_t begin) {
  while (begin < text.size()) {
    const auto byte = static_cast<unsigned char>(text[begin]);
    if (byte < 0x20 || byte >= 0x7f || byte == '"' || byte == '\\') break;
    ++begin;
  }
  return begin;
}

}  // namespace sparkplan::json_text
