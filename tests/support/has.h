#pragma once

#include <string_view>

namespace sparkplan::test {

/// True if `part` is in `text`.
inline bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace sparkplan::test
