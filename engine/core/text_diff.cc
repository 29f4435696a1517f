#include <algorithm>
#include <unordered_map>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr std::size_t kContext = 3;

// A diff above these limits would need too much memory and time, and would be too long to read. The whole range is then
// printed as replaced.
constexpr std::size_t kMostLines = 20'000;
constexpr int kMostEdits = 2'000;

enum class Side : char { kBoth = ' ', kBefore = '-', kAfter = '+' };

struct Line {
  Side side;
  std::string_view text;
};

// Lines as numbers, which are cheap to compare.
using Numbers = std::vector<int>;

class Numbering {
 public:
  Numbers of(const std::vector<std::string_view>& lines) {
    Numbers numbers;
    numbers.reserve(lines.size());
    for (const auto line : lines) {
      numbers.push_back(known_.emplace(line, static_cast<int>(known_.size())).first->second);
    }
    return numbers;
  }

 private:
  std::unordered_map<std::string_view, int> known_;
};

// Myers, "An O(ND) Difference Algorithm and Its Variations" (1986): the greedy forward search. Keeps the furthest x of
// each diagonal for each number of edits, so that the path can be traced back.
class ShortestEdit {
 public:
  ShortestEdit(const Numbers& before, const Numbers& after) : before_(before), after_(after) {}

  /// The sides of the lines in order; empty when more than kMostEdits are needed.
  std::vector<Side> find() {
    for (int edits = 0; edits <= kMostEdits; ++edits) {
      furthest_.emplace_back(static_cast<std::size_t>(2 * edits + 1), 0);
      for (int diagonal = -edits; diagonal <= edits; diagonal += 2) {
        if (reach(edits, diagonal)) return walk_back(edits);
      }
    }
    return {};
  }

 private:
  int width() const { return static_cast<int>(before_.size()); }
  int height() const { return static_cast<int>(after_.size()); }
  int& furthest(int edits, int diagonal) {
    const int index = diagonal + edits;
    return furthest_[static_cast<std::size_t>(edits)][static_cast<std::size_t>(index)];
  }
  bool same(int x, int y) const { return before_[static_cast<std::size_t>(x)] == after_[static_cast<std::size_t>(y)]; }

  // Whether the best path to `diagonal` comes from the diagonal above, by taking a line of `after`.
  bool comes_down(int edits, int diagonal) {
    if (diagonal == -edits) return true;
    if (diagonal == edits) return false;
    return furthest(edits - 1, diagonal - 1) < furthest(edits - 1, diagonal + 1);
  }

  bool reach(int edits, int diagonal) {
    int x = 0;
    if (edits > 0) {
      x = comes_down(edits, diagonal) ? furthest(edits - 1, diagonal + 1) : furthest(edits - 1, diagonal - 1) + 1;
    }
    int y = x - diagonal;
    while (x < width() && y < height() && same(x, y)) {
      ++x;
      ++y;
    }
    furthest(edits, diagonal) = x;
    return x >= width() && y >= height();
  }

  std::vector<Side> walk_back(int edits) {
    std::vector<Side> sides;
    int x = width();
    int y = height();
    for (; edits > 0; --edits) {
      const int diagonal = x - y;
      const bool down = comes_down(edits, diagonal);
      const int from_x = furthest(edits - 1, down ? diagonal + 1 : diagonal - 1);
      const int from_y = from_x - (down ? diagonal + 1 : diagonal - 1);
      while (x > from_x && y > from_y) {
        sides.push_back(Side::kBoth);
        --x;
        --y;
      }
      sides.push_back(down ? Side::kAfter : Side::kBefore);
      x = from_x;
      y = from_y;
    }
    sides.insert(sides.end(), static_cast<std::size_t>(x), Side::kBoth);
    std::reverse(sides.begin(), sides.end());
    return sides;
  }

  const Numbers& before_;
  const Numbers& after_;
  std::vector<std::vector<int>> furthest_;
};

std::vector<Side> replace_all(std::size_t before, std::size_t after) {
  std::vector<Side> sides(before, Side::kBefore);
  sides.insert(sides.end(), after, Side::kAfter);
  return sides;
}

std::vector<Side> compare_middle(const Numbers& before, const Numbers& after) {
  if (before.empty() || after.empty()) return replace_all(before.size(), after.size());
  auto sides = ShortestEdit(before, after).find();
  return sides.empty() ? replace_all(before.size(), after.size()) : sides;
}

// Within one change all removed lines come before all added ones, as readers of diff -u expect.
void removed_first(std::vector<Side>& sides) {
  const auto changed = [](Side side) { return side != Side::kBoth; };
  for (auto begin = sides.begin(); begin != sides.end();) {
    begin = std::find_if(begin, sides.end(), changed);
    const auto end = std::find_if_not(begin, sides.end(), changed);
    std::partition(begin, end, [](Side side) { return side == Side::kBefore; });
    begin = end;
  }
}

std::vector<Side> compare(const Numbers& before, const Numbers& after) {
  const auto [head_before, head_after] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  const auto head = static_cast<std::size_t>(head_before - before.begin());
  std::size_t tail = 0;
  while (tail < before.size() - head && tail < after.size() - head &&
         before[before.size() - 1 - tail] == after[after.size() - 1 - tail]) {
    ++tail;
  }
  const auto end = static_cast<std::ptrdiff_t>(tail);
  std::vector<Side> sides(head, Side::kBoth);
  const auto middle = compare_middle(Numbers(head_before, before.end() - end), Numbers(head_after, after.end() - end));
  sides.insert(sides.end(), middle.begin(), middle.end());
  sides.insert(sides.end(), tail, Side::kBoth);
  removed_first(sides);
  return sides;
}

std::vector<Side> compare(const std::vector<std::string_view>& before, const std::vector<std::string_view>& after) {
  Numbering numbering;
  const Numbers numbers_before = numbering.of(before);
  const Numbers numbers_after = numbering.of(after);
  return compare(numbers_before, numbers_after);
}

std::vector<Line> merge(const std::vector<std::string_view>& before, const std::vector<std::string_view>& after,
                        const std::vector<Side>& sides) {
  std::vector<Line> lines;
  lines.reserve(sides.size());
  std::size_t b = 0;
  std::size_t a = 0;
  for (const Side side : sides) {
    lines.push_back({side, side == Side::kAfter ? after[a] : before[b]});
    if (side != Side::kAfter) ++b;
    if (side != Side::kBefore) ++a;
  }
  return lines;
}

// "12,3". An empty range is named by the line before it. A count of 1 is left out.
std::string range(std::size_t lines_before, std::size_t count) {
  const std::string start = std::to_string(count == 0 ? lines_before : lines_before + 1);
  return count == 1 ? start : start + "," + std::to_string(count);
}

struct Position {
  std::size_t before = 0;
  std::size_t after = 0;

  void pass(Side side) {
    if (side != Side::kAfter) ++before;
    if (side != Side::kBefore) ++after;
  }
};

std::string hunk(const std::vector<Line>& lines, std::size_t first, std::size_t end, Position start) {
  std::string body;
  Position count;
  for (std::size_t i = first; i < end; ++i) {
    const Line& line = lines[i];
    count.pass(line.side);
    body += static_cast<char>(line.side);
    body += line.text;
    if (!line.text.ends_with('\n')) body += "\n\\ No newline at end of file\n";
  }
  return "@@ -" + range(start.before, count.before) + " +" + range(start.after, count.after) + " @@\n" + body;
}

// The end of the hunk whose first change is at `change`: changes with at most twice the context
// between them share one.
std::size_t hunk_end(const std::vector<Line>& lines, std::size_t change) {
  std::size_t last = change;
  for (std::size_t i = change; i < lines.size() && i - last <= 2 * kContext + 1; ++i) {
    if (lines[i].side != Side::kBoth) last = i;
  }
  return std::min(lines.size(), last + 1 + kContext);
}

// `position` is the position of the first line.
std::string hunks(const std::vector<Line>& lines, Position position) {
  std::string text;
  std::size_t passed = 0;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].side == Side::kBoth) continue;
    const std::size_t first = i - std::min(kContext, i - passed);
    for (; passed < first; ++passed) position.pass(lines[passed].side);
    const std::size_t end = hunk_end(lines, i);
    text += hunk(lines, first, end, position);
    for (; passed < end; ++passed) position.pass(lines[passed].side);
    i = end - 1;
  }
  return text;
}

std::size_t count_lines(std::string_view text) {
  const auto ends = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
  return ends + (text.empty() || text.ends_with('\n') ? 0 : 1);
}

// The bytes of the equal lines at the beginning.
std::size_t equal_head(std::string_view before, std::string_view after) {
  const auto [end, other] = std::mismatch(before.begin(), before.end(), after.begin(), after.end());
  const auto equal = before.substr(0, static_cast<std::size_t>(end - before.begin()));
  if (equal.size() == before.size() && equal.size() == after.size()) return equal.size();
  return equal.rfind('\n') + 1;  // 0 without such a line: npos is the number before 0.
}

// The bytes of the equal lines at the end. Both texts begin with a line.
std::size_t equal_tail(std::string_view before, std::string_view after) {
  const auto [end, other] = std::mismatch(before.rbegin(), before.rend(), after.rbegin(), after.rend());
  const auto size = static_cast<std::size_t>(end - before.rbegin());
  const auto is_line = [&](std::string_view text) {
    return size == text.size() || text[text.size() - size - 1] == '\n';
  };
  if (is_line(before) && is_line(after)) return size;
  const auto newline = before.find('\n', before.size() - size);
  return newline == std::string_view::npos ? 0 : before.size() - newline - 1;
}

// The bytes of the last kContext lines of a text.
std::size_t last_context(std::string_view text) {
  std::size_t begin = text.size();
  for (std::size_t i = 0; i < kContext && begin > 0; ++i) {
    begin = begin < 2 ? 0 : text.rfind('\n', begin - 2) + 1;
  }
  return text.size() - begin;
}

// The bytes of the first kContext lines of a text.
std::size_t first_context(std::string_view text) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < kContext && end < text.size(); ++i)
    end = std::min(text.find('\n', end), text.size() - 1) + 1;
  return end;
}

void append_lines(char side, std::string_view text, std::string& diff) {
  for_each_line(text, [&](std::string_view line) {
    diff += side;
    diff += line;
    diff += '\n';
  });
  if (!text.empty() && !text.ends_with('\n')) diff += "\\ No newline at end of file\n";
}

// The hunks of two texts. Equal lines at their beginnings and ends are skipped, except for the context.
std::string changed_part(std::string_view before, std::string_view after) {
  const std::size_t head = equal_head(before, after);
  const std::size_t tail = equal_tail(before.substr(head), after.substr(head));
  const std::size_t above = last_context(before.substr(0, head));
  const std::size_t below = first_context(before.substr(before.size() - tail));
  const std::size_t skipped = count_lines(before.substr(0, head - above));
  const Position start{skipped, skipped};
  const auto part = [&](std::string_view text, std::size_t more_above, std::size_t more_below) {
    return text.substr(head - more_above, text.size() - tail - head + more_above + more_below);
  };
  const auto removed = part(before, 0, 0);
  const auto added = part(after, 0, 0);
  const std::size_t count_removed = count_lines(removed);
  const std::size_t count_added = count_lines(added);
  if (count_removed <= kMostLines && count_added <= kMostLines) {
    const auto lines_before = lines_with_ends(part(before, above, below));
    const auto lines_after = lines_with_ends(part(after, above, below));
    return hunks(merge(lines_before, lines_after, compare(lines_before, lines_after)), start);
  }
  // A node's text can have millions of lines: a list of them would take a hundred bytes for each.
  const auto context_above = before.substr(head - above, above);
  const auto context_below = before.substr(before.size() - tail, below);
  const std::size_t context = count_lines(context_above) + count_lines(context_below);
  std::string diff =
      "@@ -" + range(skipped, context + count_removed) + " +" + range(skipped, context + count_added) + " @@\n";
  constexpr std::size_t kSidesAndMarks = 100;  // Of the context, and of last lines without '\n'.
  diff.reserve(diff.size() + removed.size() + added.size() + count_removed + count_added + above + below +
               kSidesAndMarks);
  append_lines(' ', context_above, diff);
  append_lines('-', removed, diff);
  append_lines('+', added, diff);
  append_lines(' ', context_below, diff);
  return diff;
}

}  // namespace

std::string unified_diff(std::string_view label, std::optional<std::string_view> before,
                         std::optional<std::string_view> after) {
  if (before == after) return {};
  const std::string name(label);
  return "--- " + (before ? name : "/dev/null") + "\n+++ " + (after ? name : "/dev/null") + "\n" +
         changed_part(before.value_or(""), after.value_or(""));
}

}  // namespace sparkplan
