#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkplan {

/// The words between blanks, tabs and line ends. They are copies, so they may outlive the text.
std::vector<std::string> words_of(std::string_view text);

}  // namespace sparkplan
