#include "engine/agent/state/roster_text.h"

namespace sparkplan {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

/// The place after the string that begins at `at`; the end of the text for a string without an end.
std::size_t after_string(std::string_view text, std::size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at < text.size() ? at + 1 : text.size();
}

std::size_t after_blanks(std::string_view text, std::size_t at) {
  while (at < text.size() && is_blank(text[at])) ++at;
  return at;
}

/// The place after the map that begins at `at`; nothing for a map without an end.
std::optional<std::size_t> after_map(std::string_view text, std::size_t at) {
  std::size_t depth = 0;
  while (at < text.size()) {
    if (text[at] == '"') {
      at = after_string(text, at);
      continue;
    }
    if (text[at] == '{') ++depth;
    if (text[at] == '}' && --depth == 0) return at + 1;
    ++at;
  }
  return std::nullopt;
}

}  // namespace

std::optional<TextPart> find_roster_text(std::string_view manifest) {
  constexpr std::string_view kKey = "\"roster\"";
  int depth = 0;
  for (std::size_t at = 0; at < manifest.size();) {
    const char c = manifest[at];
    if (c == '{' || c == '[') ++depth;
    if (c == '}' || c == ']') --depth;
    if (c != '"') {
      ++at;
      continue;
    }
    const std::size_t end = after_string(manifest, at);
    const bool is_key = depth == 1 && manifest.substr(at, end - at) == kKey;
    at = end;
    if (!is_key) continue;
    const std::size_t colon = after_blanks(manifest, at);
    if (colon == manifest.size() || manifest[colon] != ':') continue;  // A text, not a key.
    const std::size_t begin = after_blanks(manifest, colon + 1);
    if (begin == manifest.size() || manifest[begin] != '{') return std::nullopt;
    const auto after = after_map(manifest, begin);
    if (!after) return std::nullopt;
    return TextPart{begin, *after - begin};
  }
  return std::nullopt;
}

std::string without_blanks(std::string_view json) {
  std::string compact;
  compact.reserve(json.size());
  for (std::size_t at = 0; at < json.size();) {
    if (json[at] == '"') {
      const std::size_t end = after_string(json, at);
      compact.append(json, at, end - at);
      at = end;
      continue;
    }
    if (!is_blank(json[at])) compact += json[at];
    ++at;
  }
  return compact;
}

}  // namespace sparkplan
