#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkplan {

/// One line of fstab(5).
struct FstabLine {
  int line = 0;  ///< From 1.
  std::string source;
  std::string target;
  std::string type;                  ///< "ext4", "auto", "ext4,xfs"; may be empty.
  std::vector<std::string> options;  ///< Empty means "defaults".
};
/// Pure. Lines without a target are left out.
std::vector<FstabLine> parse_fstab(std::string_view text);

}  // namespace sparkplan
