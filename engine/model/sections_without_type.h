#pragma once

#include <algorithm>
#include <array>
#include <string_view>

namespace sparkplan {

/// Sections that belong to the cluster as a whole: thresholds of `verify`, content of `sync`. No resource type compiles
/// them.
inline constexpr std::array<std::string_view, 3> kSectionsWithoutType{"verify", "models", "images"};

constexpr bool needs_no_type(std::string_view key) {
  return std::find(kSectionsWithoutType.begin(), kSectionsWithoutType.end(), key) != kSectionsWithoutType.end();
}

}  // namespace sparkplan
