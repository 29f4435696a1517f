#include "engine/report/text/value_text.h"

#include <algorithm>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "engine/core/json.h"
#include "engine/core/keyed_digest.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostListedItems = 3;
/// Of the diff of one field, with its header. A node's file can have a million lines.
constexpr std::size_t kMostDiffLines = 400;
/// With -v. A node's text of empty lines has millions, and each takes a hundred bytes.
constexpr std::size_t kMostVerboseDiffLines = 100'000;

std::size_t longest_value(const TextStyle& style) {
  return static_cast<std::size_t>(std::clamp(style.width - 40, 20, 60));
}

/// The items of a list; no items for a null value. A null pointer for other values and for a list of maps or lists.
const Value::List* plain_items(const Value& value) {
  static const Value::List kNone;
  const Value::List* items = value.is_null() ? &kNone : value.list_items();
  const bool is_plain = items != nullptr && std::none_of(items->begin(), items->end(), [](const Value& item) {
                          return item.is_map() || item.is_list();
                        });
  return is_plain ? items : nullptr;
}

/// In a rollback a node words both lists. A search for each of thousands of items would take the square of their
/// number.
std::vector<std::string> items_missing_in(const Value::List& others, const Value::List& items, const TextStyle& style) {
  std::unordered_set<std::string> known;
  for (const Value& other : others) known.insert(encode_json(other));
  std::vector<std::string> texts;
  for (const Value& item : items) {
    // An Unknown equals nothing.
    if (item.is_unknown() || !known.contains(encode_json(item))) texts.push_back(value_text(item, style));
  }
  return texts;
}

/// Nothing when the lists differ only in their order, and for other values.
std::optional<std::string> list_difference(const Value& before, const Value& after, const TextStyle& style) {
  const Value::List* old_items = plain_items(before);
  const Value::List* new_items = plain_items(after);
  if (old_items == nullptr || new_items == nullptr) return std::nullopt;
  const auto added = items_missing_in(*old_items, *new_items, style);
  const auto removed = items_missing_in(*new_items, *old_items, style);
  if (added.empty() && removed.empty()) return std::nullopt;
  std::vector<std::string> parts;
  if (!style.verbose && added.size() + removed.size() > kMostListedItems) {
    if (!added.empty()) parts.push_back(std::to_string(added.size()) + " added");
    if (!removed.empty()) parts.push_back(std::to_string(removed.size()) + " removed");
    return join(parts, ", ");
  }
  for (const std::string& item : added) parts.push_back("+ " + item);
  for (const std::string& item : removed) parts.push_back("- " + item);
  return join(parts, ", ");
}

/// The two texts of a transition, cut where they differ.
std::string arrow(const Value& before, const Value& after, const TextStyle& style) {
  const bool both_texts = before.string() != nullptr && after.string() != nullptr;
  if (!both_texts || style.verbose) return value_text(before, style) + " -> " + value_text(after, style);
  const auto [old_text, new_text] = cut_where_they_differ(display(before), display(after), longest_value(style));
  return old_text + " -> " + new_text;
}

Colour colour_of_diff(std::string_view line) {
  if (line.starts_with("+")) return Colour::kGreen;
  if (line.starts_with("-")) return Colour::kRed;
  return line.starts_with("@@") ? Colour::kDim : Colour::kNone;
}

/// Cuts lines [from, middle) of one side and [middle, end) of the other side, in pairs.
void cut_pairs(std::vector<std::string>& lines, std::size_t from, std::size_t middle, std::size_t end,
               std::size_t width) {
  for (std::size_t i = 0; from + i < middle || middle + i < end; ++i) {
    std::string* before = from + i < middle ? &lines[from + i] : nullptr;
    std::string* after = middle + i < end ? &lines[middle + i] : nullptr;
    const std::string rest_before = before == nullptr ? "" : before->substr(1);
    const std::string rest_after = after == nullptr ? "" : after->substr(1);
    auto [a, b] = before == nullptr || after == nullptr
                      ? std::pair(shortened(rest_before, width - 1), shortened(rest_after, width - 1))
                      : cut_where_they_differ(rest_before, rest_after, width - 1);
    if (before != nullptr) *before = "-" + a;
    if (after != nullptr) *after = "+" + b;
  }
}

/// In a line that is too long with its tabs, each tab becomes a blank.
void narrow_tabs(std::string& line, std::size_t width) {
  constexpr std::size_t kTabStop = 8;
  const auto tabs = static_cast<std::size_t>(std::count(line.begin(), line.end(), '\t'));
  if (text_width(line) + tabs * (kTabStop - 1) > width) std::replace(line.begin(), line.end(), '\t', ' ');
}

void cut(std::vector<std::string>& lines, std::size_t width) {
  const auto run_end = [&](std::size_t begin, char side) {
    while (begin < lines.size() && lines[begin].starts_with(side)) ++begin;
    return begin;
  };
  constexpr std::size_t kHeader = 2;  // "--- label" and "+++ label"
  for (std::size_t i = 0; i < lines.size();) {
    const std::size_t middle = i < kHeader ? i : run_end(i, '-');
    const std::size_t end = i < kHeader ? i : run_end(middle, '+');
    if (end > i) {
      cut_pairs(lines, i, middle, end, width);
      i = end;
    } else {
      lines[i] = shortened(lines[i], width);
      ++i;
    }
  }
}

/// The first lines of a diff, printable, and the number of those after them.
std::pair<std::vector<std::string>, std::size_t> first_lines(std::string_view diff, std::size_t most) {
  std::vector<std::string> lines;
  while (!diff.empty() && lines.size() < most) lines.push_back(printable(take_line(diff), true));
  auto more = static_cast<std::size_t>(std::count(diff.begin(), diff.end(), '\n'));
  if (!diff.empty() && !diff.ends_with('\n')) ++more;
  return {std::move(lines), more};
}

}  // namespace

std::string value_text(const Value& value, const TextStyle& style) {
  if (value.is_null()) return "(none)";
  return style.verbose ? display(value) : shortened(display(value), longest_value(style));
}

std::string transition(const Value& before, const Value& after, Action action, const TextStyle& style) {
  if (auto difference = list_difference(before, after, style)) return *difference;
  const bool is_new = action == Action::kCreate;
  if (action == Action::kRemove && after.is_null()) return value_text(before, style) + " -> (removed)";
  return before.is_null() && is_new ? value_text(after, style) : arrow(before, after, style);
}

bool is_long_text(const Value& value) {
  return value.string() != nullptr && value.string()->find('\n') != std::string::npos;
}

std::vector<Part> diff_lines(const std::string& label, const Value& before, const Value& after, std::size_t width,
                             const TextStyle& style) {
  const auto side = [](const Value& value) -> std::optional<std::string_view> {
    if (value.is_null()) return std::nullopt;
    return value.string() != nullptr ? std::string_view(*value.string()) : std::string_view();
  };
  if (holds_secret(before) || holds_secret(after))
    return diff_lines(label, without_secrets(before), without_secrets(after), width, style);
  const std::string diff = unified_diff(label, side(before), side(after));
  auto [lines, more] = first_lines(diff, style.verbose ? kMostVerboseDiffLines : kMostDiffLines);
  if (!style.verbose) {
    for (std::string& line : lines) narrow_tabs(line, width);
    cut(lines, width);
  }
  std::vector<Part> parts;
  for (std::string& line : lines) {
    const Colour colour = colour_of_diff(line);
    parts.push_back({std::move(line), colour});
  }
  if (more > 0)
    parts.push_back({"and " + counted(more, "more line") + (style.verbose ? " (--json has them)" : " (-v shows them)"),
                     Colour::kDim});
  return parts;
}

std::size_t count_of(const Value& value) {
  if (value.is_null()) return 0;
  const auto* items = value.list_items();
  return items == nullptr ? 1 : items->size();
}

}  // namespace sparkplan
