#include "engine/model/directory_path.h"

#include "engine/core/text.h"

namespace sparkplan {

std::string plain_path(std::string_view path) {
  std::string plain = "/";
  for (const auto part : split(path, '/')) {
    if (part.empty() || part == ".") continue;
    plain += part;
    plain += '/';
  }
  return plain;
}

bool nested_or_same(std::string_view one, std::string_view other) {
  return one.starts_with(other) || other.starts_with(one);
}

}  // namespace sparkplan
