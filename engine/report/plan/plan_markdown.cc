#include "engine/report/plan/plan_markdown.h"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/ascii.h"
#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/report/plan/fair_share.h"
#include "engine/report/plan/grouped_plan.h"
#include "engine/report/plan/plan_for_others.h"
#include "engine/report/plan/report.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestCell = 600;
constexpr std::size_t kMostDiffBytes = 8'000;
constexpr std::size_t kReserve = 400;  // For the line about what is left out.

bool is_plain(char c) {
  return is_alphanumeric(c) || std::string_view(" .,/-()+;%").find(c) != std::string_view::npos ||
         static_cast<unsigned char>(c) >= 0x80;
}

/// Every other ASCII character becomes a number: Markdown and HTML then see a character, and no markup.
std::string escaped(std::string_view text) {
  std::string shown;
  for (const char c : printable(text)) {
    if (is_plain(c)) {
      shown += c;
    } else {
      shown += "&#" + std::to_string(static_cast<int>(c)) + ";";
    }
  }
  return shown;
}

/// In a code element, GitHub makes no links and mentions.
std::string code(std::string_view text) {
  return text.empty() ? "" : "<code>" + escaped(shown_text(text, kLongestCell)) + "</code>";
}

struct TitleCounts {
  std::size_t add = 0, change = 0, remove = 0, drift = 0, blocked = 0;
  auto operator<=>(const TitleCounts&) const = default;
};

TitleCounts counts_of(const NodeReport& node) {
  TitleCounts counts;
  counts.blocked = node.plan.blocked.size();
  for (const Change& change : node.plan.changes) {
    if (change.origin == Origin::kForeign) continue;
    if (change.origin == Origin::kDrift) ++counts.drift;
    if (change.action == Action::kCreate) ++counts.add;
    if (change.action == Action::kUpdate) ++counts.change;
    if (change.action == Action::kRemove) ++counts.remove;
  }
  return counts;
}

struct SummaryRow {
  std::string text;
  std::size_t nodes = 0;
};

constexpr std::string_view kSummaryHead =
    "| nodes | state | add | change | remove | drift | blocked |\n|---|---|--:|--:|--:|--:|--:|\n";

/// Nodes with the same numbers share a row.
std::vector<SummaryRow> summary_rows(const Report& report) {
  std::vector<std::pair<std::string, std::vector<std::string>>> rows;
  for (const NodeReport& node : report.nodes) {
    const TitleCounts counts = counts_of(node);
    std::string row = " | " + escaped(state_words(node));
    for (const std::size_t number : {counts.add, counts.change, counts.remove, counts.drift, counts.blocked})
      row += " | " + std::to_string(number);
    auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& one) { return one.first == row; });
    if (found == rows.end()) found = rows.insert(rows.end(), {row, {}});
    found->second.push_back(node.name);
  }
  std::vector<SummaryRow> table;
  for (const auto& [row, names] : rows) table.push_back({"| " + code(fold_names(names)) + row + " |\n", names.size()});
  return table;
}

/// A part of the comment that may be left out.
struct Piece {
  enum class Kind { kProblem, kChange, kDiff, kValues };
  Kind kind = Kind::kProblem;
  std::function<std::string()> text;  ///< Made again where it is shown: thousands of diffs need no memory.
};

/// All of them, in the order of the comment. Problems and values have a frame of their own, and so has each type.
class Pieces {
 public:
  Pieces() : frames_{1, 0} {}

  /// The number of the frame.
  std::size_t add_frame(std::size_t bytes) {
    frames_.push_back(bytes);
    return frames_.size() - 1;
  }
  /// The number of the piece.
  std::size_t add(Piece piece, SharedPart part) {
    part.bytes = piece.text().size();
    pieces_.push_back(std::move(piece));
    parts_.push_back(std::move(part));
    return pieces_.size() - 1;
  }
  void choose(std::size_t most) { shown_ = parts_to_show(parts_, frames_, most); }

  std::size_t count() const { return pieces_.size(); }
  const Piece& piece(std::size_t at) const { return pieces_[at]; }
  std::size_t frame_of(std::size_t at) const { return parts_[at].frame; }
  bool is_shown(std::size_t at) const { return shown_[at]; }
  /// True if it is left out for its own size.
  bool is_left_out(std::size_t at) const { return !shown_[at] && (!parts_[at].needs || shown_[*parts_[at].needs]); }

 private:
  std::vector<Piece> pieces_;
  std::vector<SharedPart> parts_;
  std::vector<std::size_t> frames_;
  std::vector<bool> shown_;
};

constexpr std::size_t kOfProblems = 0;
constexpr std::size_t kOfValues = 1;

std::string error_line(const NodeReport& node) {
  return "- **" + std::string(node.status == NodeStatus::kUnreachable ? "unreachable" : "failed") + "** " +
         code(node.name) + ": " + code(error_text(node)) + "\n";
}

std::string blocked_line(const ChangeGroup& group) {
  return "- **blocked** " + code(nodes_of(group)) + " " + code(group.text.type + " " + group.text.name) + ": " +
         code(change_words(group.text)) + "\n";
}

std::string finding_line(const Diagnostic& one) {
  const std::string place = one.where.known() ? one.file + ":" + std::to_string(one.where.line) : std::string(one.node);
  return "- **" + std::string(to_string(one.severity)) + "** " + code(place) + (place.empty() ? "" : ": ") +
         code(one.message) + "\n";
}

/// One line for each. The report and the plan outlive the pieces.
void add_problem_lines(const Report& report, const GroupedPlan& plan, Pieces& pieces) {
  const auto add = [&](std::function<std::string()> line, std::vector<std::string> nodes) {
    pieces.add({Piece::Kind::kProblem, std::move(line)}, {0, std::move(nodes), kOfProblems});
  };
  for (const NodeReport& node : report.nodes) {
    if (node.error) add([&] { return error_line(node); }, {node.name});
  }
  for (const ChangeGroup& group : plan.blocked) add([&] { return blocked_line(group); }, group.nodes);
  for (const Diagnostic& one : report.diagnostics) {
    if (one.severity == Severity::kNote) continue;
    add([&] { return finding_line(one); }, one.node.empty() ? std::vector<std::string>() : std::vector{one.node});
  }
}

/// A fenced block. The fence is longer than any in the text.
std::string diff_block(const ChangeGroup& group) {
  std::string lines;
  std::size_t left = group.text.body.size();
  for (const BodyLine& line : group.text.body) {
    if (lines.size() + line.part.text.size() > kMostDiffBytes) break;
    // A note is no line of the diff.
    lines += (line.verbatim ? "" : "# ") + line.part.text + "\n";
    --left;
  }
  if (left > 0) lines += "# and " + counted(left, "more line") + "\n";
  std::size_t longest = 2;
  std::size_t run = 0;
  for (const char c : lines) {
    run = c == '`' ? run + 1 : 0;
    longest = std::max(longest, run);
  }
  const std::string fence(longest + 1, '`');
  return "\n" + code(group.text.name) + "\n\n" + fence + "diff\n" + lines + fence + "\n";
}

std::string row_of(const ChangeGroup& group) {
  return "| " + std::string(word_of_symbol(group.text.symbol)) + " | " + code(group.text.name) + " | " +
         code(change_words(group.text)) + " | " + code(nodes_of(group)) + " |\n";
}

/// The text so far, and what no longer fits into it.
class Comment {
 public:
  explicit Comment(std::size_t most) : most_(most) {}

  void always(const std::string& text) { text_ += text; }
  /// False: it does not fit.
  bool add(const std::string& text, std::size_t closing = 0) {
    if (text_.size() + text.size() + closing + kReserve > most_) return false;
    text_ += text;
    return true;
  }
  /// The number of bytes that still fit.
  std::size_t room() const { return text_.size() + kReserve < most_ ? most_ - text_.size() - kReserve : 0; }
  std::string text() && { return std::move(text_); }

 private:
  std::size_t most_;
  std::string text_;
};

struct LeftOut {
  std::size_t nodes = 0;  ///< Of the summary table.
  std::size_t problems = 0;
  std::size_t changes = 0;
  std::size_t diffs = 0;
  bool values = false;

  void count(Piece::Kind kind) {
    if (kind == Piece::Kind::kProblem) ++problems;
    if (kind == Piece::Kind::kChange) ++changes;
    if (kind == Piece::Kind::kDiff) ++diffs;
    if (kind == Piece::Kind::kValues) values = true;
  }
};

void add_summary(Comment& comment, const Report& report, LeftOut& left_out) {
  comment.always(std::string(kSummaryHead));
  for (const SummaryRow& row : summary_rows(report)) {
    if (!comment.add(row.text, 1)) left_out.nodes += row.nodes;
  }
  comment.always("\n");
}

constexpr std::string_view kEndOfType = "\n</details>\n\n";

std::string head_of(const TypeChanges& type) {
  return "<details><summary>" + code(type.type) + ": " + counted(type.groups.size(), "change") +
         "</summary>\n\n| what | name | change | nodes |\n|---|---|---|---|\n";
}

/// The rows of a type, then its diffs. Returns its frame. The type outlives the pieces.
std::size_t add_type(const TypeChanges& type, Pieces& pieces) {
  const std::size_t frame = pieces.add_frame(head_of(type).size() + kEndOfType.size());
  std::vector<std::size_t> rows;
  for (const ChangeGroup& group : type.groups) {
    rows.push_back(pieces.add({Piece::Kind::kChange, [&] { return row_of(group); }}, {0, group.nodes, frame}));
  }
  for (std::size_t at = 0; at < rows.size(); ++at) {
    const ChangeGroup& group = type.groups[at];
    if (group.text.body.empty()) continue;
    pieces.add({Piece::Kind::kDiff, [&] { return diff_block(group); }}, {0, group.nodes, frame, rows[at]});
  }
  return frame;
}

std::string values_table(const NodeTable& table, const Report& report) {
  if (table.columns.empty()) return "";
  std::string text = "<details><summary>Values per node</summary>\n\n| node |";
  std::string line = "\n|---|";
  for (const NodeTable::Column& column : table.columns) {
    text += " " + code(column.name + (column.label.empty() ? "" : " " + column.label)) + " |";
    line += "---|";
  }
  text += line + "\n";
  for (const NodeReport& node : report.nodes) {
    std::string row = "| " + code(node.name) + " |";
    bool any = false;
    for (const NodeTable::Column& column : table.columns) {
      const auto found = column.cells.find(printable(node.name));
      any = any || found != column.cells.end();
      row += " " + (found == column.cells.end() ? std::string() : code(found->second)) + " |";
    }
    if (any) text += row + "\n";
  }
  return text + "\n</details>\n\n";
}

std::string left_out_text(const LeftOut& left_out) {
  std::vector<std::string> parts;
  if (left_out.nodes > 0) parts.push_back("the state of " + counted(left_out.nodes, "node"));
  if (left_out.problems > 0) parts.push_back(counted(left_out.problems, "problem"));
  if (left_out.changes > 0) parts.push_back(counted(left_out.changes, "change"));
  if (left_out.diffs > 0) parts.push_back(counted(left_out.diffs, "diff"));
  if (left_out.values) parts.emplace_back("the values per node");
  if (parts.empty()) return "";
  return "Left out, because a comment has a limit: " + join(parts, ", ") + ". `sparkplan plan` prints everything.\n";
}

/// The pieces in order, each type in its frame. `heads` are the heads of the types, by frame.
void write_pieces(const Pieces& pieces, const std::map<std::size_t, std::string>& heads, Comment& comment,
                  LeftOut& left_out) {
  std::optional<std::size_t> open;
  const auto close = [&] {
    if (open) comment.always(*open == kOfProblems ? "\n" : *open == kOfValues ? "" : std::string(kEndOfType));
  };
  for (std::size_t at = 0; at < pieces.count(); ++at) {
    if (pieces.is_left_out(at)) left_out.count(pieces.piece(at).kind);
    if (!pieces.is_shown(at)) continue;
    if (open != pieces.frame_of(at)) {
      close();
      open = pieces.frame_of(at);
      if (const auto head = heads.find(*open); head != heads.end()) comment.always(head->second);
    }
    comment.always(pieces.piece(at).text());
  }
  close();
}

}  // namespace

std::string to_markdown(const Report& whole, const Cluster& cluster, std::size_t most) {
  const Report report = for_others(whole, cluster);
  const GroupedPlan plan = grouped_plan(report);
  Comment comment(most);
  LeftOut left_out;
  comment.always("## sparkplan plan: " + code(report.cluster) + "\n\n");
  comment.always(code(verdict_line(report)) + "\n\n");
  add_summary(comment, report, left_out);
  Pieces pieces;
  add_problem_lines(report, plan, pieces);
  std::map<std::size_t, std::string> heads;
  for (const TypeChanges& type : plan.types) heads[add_type(type, pieces)] = head_of(type);
  std::vector<std::string> names;
  for (const NodeReport& node : report.nodes) names.push_back(node.name);
  const std::string values = values_table(plan.table, report);
  if (!values.empty()) {
    pieces.add({Piece::Kind::kValues, [&] { return values; }}, {0, std::move(names), kOfValues});
  }
  pieces.choose(comment.room());
  write_pieces(pieces, heads, comment, left_out);
  comment.always(left_out_text(left_out));
  return std::move(comment).text();
}

}  // namespace sparkplan
