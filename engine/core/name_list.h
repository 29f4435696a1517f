#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace sparkplan {

/// The most names that unfold_names() makes of one text.
inline constexpr std::size_t kMostUnfoldedNames = 4096;

/// The most pairs of brackets in such a text. fold_names() makes one.
inline constexpr std::size_t kMostBrackets = 8;

/// The most bytes of these names together: a long text has as many copies as there are numbers in its brackets.
inline constexpr std::size_t kMostUnfoldedBytes = std::size_t{1} << 20;

/// The most patterns of --only, and of --exclude, and the most bytes of them together.
inline constexpr std::size_t kMostPatterns = 4096;
inline constexpr std::size_t kMostPatternBytes = std::size_t{256} << 10;

/// True if unfold_names() takes the text as one name for this reason.
bool has_too_many_brackets(std::string_view text);

/// The way back from fold_names(): "spark-[01-02,04]-a" has three names. Numbers are as wide as the first of their
/// range. A text without brackets, with more of them than kMostBrackets, with brackets of another form, or with more
/// than kMostUnfoldedNames names or kMostUnfoldedBytes, has one name: itself. `text` has no list: see
/// split_name_list().
std::vector<std::string> unfold_names(std::string_view text);

/// Why unfold_names() takes the brackets of a text for letters, in words for the user; empty if it has none or takes
/// them for numbers: "the range 3-1 is reversed: write 1-3".
std::string fault_of_brackets(std::string_view text);

/// The parts of a comma list, without blanks around them: "spark-[01,03], head/sysctl" has two. A comma in brackets is
/// part of a name. Brackets after a slash have no meaning.
std::vector<std::string> split_name_list(std::string_view text);

}  // namespace sparkplan
