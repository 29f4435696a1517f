#include "engine/model/container_image.h"

#include <algorithm>
#include <array>

#include "engine/core/digest.h"

namespace sparkplan {

std::optional<std::string> image_id_from(std::string_view text) {
  constexpr std::string_view kAlgorithm = "sha256:";
  if (text.starts_with(kAlgorithm)) text.remove_prefix(kAlgorithm.size());
  return is_sha256(text) ? std::optional(std::string(text)) : std::nullopt;
}

std::string short_image_id(std::string_view id) { return std::string(id.substr(0, 12)); }

bool says_no_such_image(std::string_view words) {
  constexpr std::array<std::string_view, 3> kWords{"no such image", "image not known", "no such object"};
  const auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; };
  const auto is_same = [&](char said, char wanted) { return lower(said) == wanted; };
  return std::any_of(kWords.begin(), kWords.end(), [&](std::string_view one) {
    return std::search(words.begin(), words.end(), one.begin(), one.end(), is_same) != words.end();
  });
}

}  // namespace sparkplan
