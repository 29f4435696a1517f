// The text of `verify` and `doctor`.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/report/checks/check_groups.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/checks/doctor_rows.h"
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

std::string text_of(const DoctorProblem& problem, const TextStyle& style) {
  const RowId row = problem.first->row;
  std::vector<std::string> names;
  for (const auto& name : problem.nodes) names.push_back(printable(name));
  FlowingLine line(status_word(problem.first->status, style), kStatusWidth, kStatusWidth + 2, style);
  line.add({fold_names(names), Colour::kBold});
  line.add_words(std::string(row->id) + ": " + std::string(row->symptom), Colour::kNone, 2);
  return std::move(line).text() + wrapped("seen: " + printable(problem.first->seen), kDetails, style) +
         wrapped("cause: " + std::string(row->cause), kDetails, style) +
         wrapped("fix: " + std::string(row->fix), kDetails, style);
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
  text += node_errors_text(report.run, style) + summary_of(report, style);
  if (!style.quiet) {
    text += matrices(report.checks, style);
    for (const std::string& table : report.tables) text += table;
  }
  return text + wrapped(verdict_of(report), 0, style);
}

std::string to_text(const DoctorReport& report, const TextStyle& style) {
  std::string text;
  const DoctorRows rows = doctor_rows(report.findings);
  for (const DoctorProblem& problem : rows.problems) text += text_of(problem, style);
  if (!style.quiet) {
    text +=
        line_of_rows(CheckStatus::kPass, rows.passed, style) + line_of_rows(CheckStatus::kSkip, rows.skipped, style);
  }
  // As many as lines: the user counts what is printed above.
  const std::string summary = fmt::format("Doctor: {}. {:.2f} s", rows.counts_text(), report.run.duration.count());
  return text + node_errors_text(report.run, style) + wrapped(summary, 0, style);
}

}  // namespace sparkplan
