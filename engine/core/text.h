#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sparkplan {

/// The pieces between separators; "a,,b" has three. An empty text has one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);
/// Lines without their '\n'. No empty line follows a final newline.
std::vector<std::string_view> split_lines(std::string_view text);
/// Lines with their '\n', so that they join to the text.
std::vector<std::string_view> lines_with_ends(std::string_view text);
/// Deleted for temporaries: the pieces point into the text, which would be destroyed before they are read.
std::vector<std::string_view> split(std::string&& text, char separator) = delete;
std::vector<std::string_view> split_lines(std::string&& text) = delete;
std::vector<std::string_view> lines_with_ends(std::string&& text) = delete;
/// Removes the first line from the text, and returns it without its '\n'. An empty text has only empty lines.
std::string_view take_line(std::string_view& text);
/// Calls `take(line)` for each of split_lines(), without a list of them: a node's text can have millions.
template <class Take>
void for_each_line(std::string_view text, const Take& take) {
  while (!text.empty()) take(take_line(text));
}
/// The words between blanks, tabs and line ends. They are copies, so they may outlive the text.
std::vector<std::string> words_of(std::string_view text);
/// Without blanks, tabs and line ends at both ends. A view into the text, or a copy of a temporary, which would be
/// destroyed before the view is read.
std::string_view trim(std::string_view text);
template <std::same_as<std::string> Temporary>
std::string trim(Temporary&& text) {
  return std::string(trim(std::string_view(text)));
}
/// True for a text with a byte below 0x20, or with 0x7F.
bool has_control_character(std::string_view text);
std::string join(std::span<const std::string> parts, std::string_view separator);

/// False for what code_point_at() calls broken.
bool is_valid_utf8(std::string_view text);

/// Makes text from a node or from the YAML safe for a terminal. Control characters become pictures ("\x1b" -> U+241B),
/// is_treacherous() characters their number ("<U+202E>"), and broken UTF-8 U+FFFD. '\n' and '\t' stay only with
/// `keep_newlines`.
std::string printable(std::string_view text, bool keep_newlines = false);

/// printable(), with one blank for each run of blanks: text from a node in a line with columns.
std::string printable_words(std::string_view text);

/// Text from the user's file inside a message: in double quotes, printable(), cut to about 60 bytes.
std::string in_quotes(std::string_view text);

/// The candidate with the smallest edit distance, if that is small enough for a typing error: at most a third of the
/// longer word, at least 1. Words of over 256 bytes have none.
std::optional<std::string> nearest(std::string_view word, std::span<const std::string> candidates);

/// A unified diff with 3 lines of context, headed "--- label" / "+++ label"; empty when equal.
/// An absent side is labelled /dev/null.
std::string unified_diff(std::string_view label, std::optional<std::string_view> before,
                         std::optional<std::string_view> after);

/// No longer name is folded, in bytes: names of nodes have 63, and those of files seldom more than this.
inline constexpr std::size_t kLongestFoldedName = 256;

/// The most names of machines in one sentence.
inline constexpr std::size_t kMostNamesInAText = 16;

/// "01-08,11" for numbers of at most 18 digits. Sorts them.
std::string fold_numbers(std::vector<std::string> numbers);

/// "spark-[01-08]" for names that differ in one run of digits; others joined by ", ". Keeps the order of first
/// appearance.
std::string fold_names(std::span<const std::string> names);

/// The first `most` names as fold_names() writes them, and the number of the others: "spark-[01-16] and 3 more".
std::string fold_first_names(std::span<const std::string> names, std::size_t most = kMostNamesInAText);

/// With a to z in place of A to Z, in every locale.
std::string lower_case(std::string_view text);

/// Shell-style '*' and '?' over the whole text; '/' has no special meaning.
bool glob_match(std::string_view pattern, std::string_view text);

/// True if the path `inner` is `outer` or lies below it; both are without a final '/'.
bool is_within(std::string_view inner, std::string_view outer);

}  // namespace sparkplan
