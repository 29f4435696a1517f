#pragma once

#include <optional>
#include <span>
#include <string>

namespace sparkplan {

/// Pure. "spark-[01-08]-fabric" for texts that differ only in one run of digits, which rises from text to text. The
/// n-th text is then the n-th number, so two such series can be read side by side. Nothing for all other texts, and
/// for fewer than two. Texts above kLongestFoldedName are no series.
std::optional<std::string> folded_series(std::span<const std::string> texts);

}  // namespace sparkplan
