#include "engine/resource/managed_block.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::string_view kBegin = "# BEGIN sparkplan";
constexpr std::string_view kEnd = "# END sparkplan";
constexpr std::string_view kBeginLine = "# BEGIN sparkplan (changes inside this block are overwritten)";
/// Added to the begin marker if the text before it did not end in a newline: removing the block then restores every
/// byte. The marker still ends in a newline. Otherwise a later `echo ... >>` to the file would become part of our
/// comment.
constexpr std::string_view kNewlineAdded = " (newline above is ours)";

/// Offsets into the text; `body` and `past_end` are behind the '\n' of their marker's line.
struct Block {
  std::size_t begin_marker = 0;
  std::size_t body = 0;
  std::size_t end_marker = 0;
  std::size_t past_end = 0;
};

Error damaged(std::size_t line, std::string message) {
  Error error{ErrorCode::kInvalidInput, std::move(message), {}, {}, {}};
  error.hint = "put the \"" + std::string(kBegin) + "\" and \"" + std::string(kEnd) +
               "\" lines back as a pair, or delete both and all lines between them";
  return std::move(error).within("line " + std::to_string(line));
}

Result<std::optional<Block>> locate(std::string_view text) {
  std::optional<Block> found;
  bool open = false;
  std::size_t begin_line = 0;
  std::size_t number = 0;
  for (std::size_t start = 0; start < text.size();) {
    ++number;
    const std::size_t newline = text.find('\n', start);
    const std::size_t next = newline == std::string_view::npos ? text.size() : newline + 1;
    const std::string_view line = text.substr(start, next - start);
    if (line.starts_with(kBegin)) {
      if (open) return failure(damaged(number, "a second begin marker of sparkplan before the end of the first"));
      if (found) return failure(damaged(number, "a second block of sparkplan"));
      found = Block{start, next, 0, 0};
      open = true;
      begin_line = number;
    } else if (line.starts_with(kEnd)) {
      if (!open) return failure(damaged(number, "an end marker of sparkplan without a begin marker"));
      found->end_marker = start;
      found->past_end = next;
      open = false;
    }
    start = next;
  }
  if (open) return failure(damaged(begin_line, "a begin marker of sparkplan without an end marker"));
  return found;
}

bool has_marker(std::string_view body) {
  return std::ranges::any_of(split_lines(body),
                             [](std::string_view line) { return line.starts_with(kBegin) || line.starts_with(kEnd); });
}

std::string without(std::string_view text, const Block& block) {
  std::string_view before = text.substr(0, block.begin_marker);
  const std::string_view after = text.substr(block.past_end);
  const std::string_view marker = text.substr(block.begin_marker, block.body - block.begin_marker);
  const bool newline_is_ours = marker.find(kNewlineAdded) != std::string_view::npos;
  if (newline_is_ours && after.empty() && before.ends_with('\n')) before.remove_suffix(1);
  return std::string(before) + std::string(after);
}

}  // namespace

Result<std::optional<std::string>> find_block(std::string_view text) {
  SPARK_TRY(const std::optional<Block> block, locate(text));
  if (!block) return std::optional<std::string>();
  return std::optional<std::string>(text.substr(block->body, block->end_marker - block->body));
}

Result<std::string> replace_block(std::string_view text, const std::optional<std::string>& body) {
  SPARK_TRY(const std::optional<Block> block, locate(text));
  if (!body) return block ? without(text, *block) : std::string(text);
  if (has_marker(*body)) return failure(ErrorCode::kInvalidInput, "the text of a block contains a marker line");

  std::string lines = *body;
  if (!lines.empty() && !lines.ends_with('\n')) lines += '\n';  // The end marker needs a separate line.
  if (block) {
    return std::string(text.substr(0, block->body)) + lines + std::string(text.substr(block->end_marker));
  }
  std::string result(text);
  std::string marker(kBeginLine);
  if (!text.empty() && !text.ends_with('\n')) {
    result += '\n';
    marker += kNewlineAdded;
  }
  return result + marker + "\n" + lines + std::string(kEnd) + "\n";
}

std::string_view text_above_block(std::string_view text) {
  if (text.starts_with(kBegin)) return {};
  const std::size_t found = text.find("\n" + std::string(kBegin));
  return found == std::string_view::npos ? text : text.substr(0, found + 1);
}

}  // namespace sparkplan
