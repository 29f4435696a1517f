// The text of `verify` and `doctor`.
#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/report/checks/check_groups.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/checks/matrix.h"
#include "engine/report/checks/verify_verdict.h"
#include "engine/report/plan/report.h"

namespace sparkplan {
namespace {

constexpr std::size_t kStatusWidth = 4;      // "pass", "FAIL"
constexpr std::size_t kDetails = 8;          // The indent of cause and fix.
constexpr std::size_t kLongestWords = 1500;  // Of one text of a check. A node words some of them; JSON has all of it.

/// How a status is shown, and in which order: failures come last, next to the prompt.
struct StatusStyle {
  int rank = 0;
  std::string_view word;
  Colour colour = Colour::kNone;
};
StatusStyle style_of(CheckStatus status) {
  constexpr std::array<StatusStyle, 4> kStyles{{{0, "pass", Colour::kGreen},
                                                {2, "warn", Colour::kYellow},
                                                {3, "FAIL", Colour::kRed},
                                                {1, "skip", Colour::kDim}}};
  return kStyles.at(static_cast<std::size_t>(status));
}

std::string status_word(CheckStatus status, const TextStyle& style) {
  return paint(style_of(status).word, style_of(status).colour, style);
}

/// The order on a terminal.
std::vector<CheckGroup> ranked_groups_of(const std::vector<Check>& checks) {
  std::vector<CheckGroup> groups = groups_of(checks);
  std::stable_sort(groups.begin(), groups.end(), [](const CheckGroup& a, const CheckGroup& b) {
    return style_of(a.first->status).rank < style_of(b.first->status).rank;
  });
  return groups;
}

std::string line_of(const CheckGroup& group, const TextStyle& style) {
  const Check& check = *group.first;
  std::string said = shown_text(check.text, kLongestWords);
  const auto values = values_text(group);
  if (!values.empty()) said += (said.empty() ? "" : ": ") + values;
  if (check.status == CheckStatus::kSkip) {
    const bool one_cause = std::all_of(group.checks.begin(), group.checks.end(),
                                       [&](const Check* other) { return other->cause == check.cause; });
    said = shown_text(one_cause ? check.cause : shared_reason(check), kLongestWords);
  }
  const std::string level = fmt::format("  {:<7}  ", to_string(check.level));
  const std::size_t begin = kStatusWidth + level.size();
  FlowingLine line(status_word(check.status, style) + level, begin, begin, style);
  line.add({nodes_text(group), Colour::kBold, 0});
  line.add_words(printable(check.what), Colour::kNone, 2);
  line.add_words(said, Colour::kNone, 2);
  std::string text = std::move(line).text();
  if (is_problem(check.status) && !check.cause.empty())
    text += wrapped("cause: " + shown_text(check.cause, kLongestWords), kDetails, style);
  if (!check.fix.empty()) text += wrapped("fix: " + shown_text(check.fix, kLongestWords), kDetails, style);
  return text;
}

std::string lines_of_nodes(const Report& run, const TextStyle& style) {
  std::string text;
  for (const NodeReport& node : run.nodes) {
    if (!node.error) continue;
    const bool unreachable = node.status == NodeStatus::kUnreachable;
    text += continued("! " + printable(node.name) + (unreachable ? " unreachable: " : " failed: ") + error_text(node),
                      2, style);
    if (!node.error->hint.empty()) text += continued("    hint: " + printable(node.error->hint), 4, style);
  }
  return text;
}

std::string summary_of(const VerifyReport& report, const TextStyle& style) {
  const StatusCounts counts = count_by_status(report.checks);
  std::string text = fmt::format("Verify: {} passed", counts.pass);
  if (counts.warn > 0) text += ", " + counted(counts.warn, "warning");
  text += fmt::format(", {} failed, {} skipped", counts.fail, counts.skip);
  std::size_t lost = 0;
  std::size_t left_out = 0;
  for (const NodeReport& node : report.run.nodes) {
    if (node.error) ++lost;
    if (node.status == NodeStatus::kSkipped) ++left_out;
  }
  if (lost > 0) text += ". " + counted(lost, "node") + " not verified";
  if (left_out > 0) text += ". " + counted(left_out, "node") + " skipped";
  if (report.run.interrupted) text += ". Interrupted";
  return wrapped(text + fmt::format(". {:.2f} s", report.run.duration.count()), 0, style);
}

/// Nodes with the same finding on one row.
struct Problem {
  const Finding* first = nullptr;
  std::vector<std::string> nodes;
};

std::vector<Problem> problems_in(const std::vector<Finding>& findings) {
  std::vector<Problem> problems;
  for (const Finding& finding : findings) {
    if (!is_problem(finding.status)) continue;
    const auto same = std::find_if(problems.begin(), problems.end(), [&](const Problem& one) {
      return one.first->row == finding.row && one.first->status == finding.status && one.first->seen == finding.seen;
    });
    if (same == problems.end()) {
      problems.push_back({&finding, finding.nodes});
    } else {
      same->nodes.insert(same->nodes.end(), finding.nodes.begin(), finding.nodes.end());
    }
  }
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return a.first->status == CheckStatus::kFail && b.first->status != CheckStatus::kFail;
  });
  return problems;
}

std::string text_of(const Problem& problem, const TextStyle& style) {
  const RowId row = problem.first->row;
  std::vector<std::string> names;
  for (const auto& name : problem.nodes) names.push_back(printable(name));
  std::sort(names.begin(), names.end());
  FlowingLine line(status_word(problem.first->status, style), kStatusWidth, kStatusWidth + 2, style);
  line.add({fold_names(names), Colour::kBold});
  line.add_words(std::string(row->id) + ": " + std::string(row->symptom), Colour::kNone, 2);
  return std::move(line).text() + wrapped("seen: " + printable(problem.first->seen), kDetails, style) +
         wrapped("cause: " + std::string(row->cause), kDetails, style) +
         wrapped("fix: " + std::string(row->fix), kDetails, style);
}

/// The rows without a problem, in their order. A row counts as passed if a node has passed it.
struct QuietRows {
  std::vector<std::string> passed, skipped;
};

QuietRows quiet_rows(const std::vector<Finding>& findings) {
  std::vector<RowId> order;
  std::map<std::string_view, CheckStatus> worst;  // Of a problem, of a pass, or of a skip.
  const auto rank = [](CheckStatus status) { return is_problem(status) ? 2 : status == CheckStatus::kPass ? 1 : 0; };
  for (const Finding& finding : findings) {
    const auto [place, is_new] = worst.emplace(finding.row->id, finding.status);
    if (is_new) order.push_back(finding.row);
    if (rank(finding.status) > rank(place->second)) place->second = finding.status;
  }
  QuietRows rows;
  for (const RowId& row : order) {
    const CheckStatus status = worst.at(row->id);
    if (is_problem(status)) continue;
    (status == CheckStatus::kPass ? rows.passed : rows.skipped).emplace_back(row->id);
  }
  return rows;
}

/// One line with the number of the rows; with `style.verbose`, their names. Empty without rows.
std::string line_of_rows(CheckStatus status, const std::vector<std::string>& rows, const TextStyle& style) {
  if (rows.empty()) return "";
  FlowingLine line(status_word(status, style), kStatusWidth, kStatusWidth + 2, style);
  line.add_words(style.verbose ? join(rows, ", ") : counted(rows.size(), "check") + " (-v lists them)", Colour::kNone,
                 2);
  return std::move(line).text();
}

}  // namespace

std::string to_text(const VerifyReport& report, const TextStyle& style) {
  std::string text;
  for (const CheckGroup& group : ranked_groups_of(report.checks)) {
    if (style.quiet && group.first->status == CheckStatus::kPass) continue;
    text += line_of(group, style);
  }
  text += lines_of_nodes(report.run, style) + summary_of(report, style);
  if (!style.quiet) {
    text += matrices(report.checks, style);
    for (const std::string& table : report.tables) text += table;
  }
  return text + wrapped(verdict_of(report), 0, style);
}

std::string to_text(const DoctorReport& report, const TextStyle& style) {
  std::string text;
  const std::vector<Problem> problems = problems_in(report.findings);
  for (const Problem& problem : problems) text += text_of(problem, style);
  const QuietRows rows = quiet_rows(report.findings);
  if (!style.quiet) {
    text +=
        line_of_rows(CheckStatus::kPass, rows.passed, style) + line_of_rows(CheckStatus::kSkip, rows.skipped, style);
  }
  // As many as lines: the user counts what is printed above.
  const auto failed = static_cast<std::size_t>(std::count_if(
      problems.begin(), problems.end(), [](const Problem& one) { return one.first->status == CheckStatus::kFail; }));
  const std::string summary = fmt::format("Doctor: {} failed, {}, {} passed, {} skipped. {:.2f} s", failed,
                                          counted(problems.size() - failed, "warning"), rows.passed.size(),
                                          rows.skipped.size(), report.run.duration.count());
  return text + lines_of_nodes(report.run, style) + wrapped(summary, 0, style);
}

}  // namespace sparkplan
