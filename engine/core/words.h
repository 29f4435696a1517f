#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkplan {

/// What stands between blanks, tabs and line ends. Copies: the text may be gone before they are.
std::vector<std::string> words_of(std::string_view text);

}  // namespace sparkplan
