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
#include "engine/report/checks/matrix.h"
#include "engine/report/checks/verify_verdict.h"
#include "engine/report/plan/report.h"

namespace sparkplan {
namespace {

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
  std::string text = status_word(check.status, style) + fmt::format("  {:<7}  ", to_string(check.level)) +
                     paint(nodes_text(group), Colour::kBold, style);
  if (!check.what.empty()) text += "  " + printable(check.what);
  text += "  " + said + "\n";
  if (is_problem(check.status) && !check.cause.empty())
    text += "        cause: " + shown_text(check.cause, kLongestWords) + "\n";
  if (!check.fix.empty()) text += "        fix: " + shown_text(check.fix, kLongestWords) + "\n";
  return text;
}

std::string lines_of_nodes(const Report& run) {
  std::string text;
  for (const NodeReport& node : run.nodes) {
    if (!node.error) continue;
    const bool unreachable = node.status == NodeStatus::kUnreachable;
    text += "! " + printable(node.name) + (unreachable ? " unreachable: " : " failed: ") + error_text(node) + "\n";
    if (!node.error->hint.empty()) text += "    hint: " + printable(node.error->hint) + "\n";
  }
  return text;
}

std::string summary_of(const VerifyReport& report) {
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
  return text + fmt::format(". {:.2f} s\n", report.run.duration.count());
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
  return status_word(problem.first->status, style) + "  " + paint(fold_names(names), Colour::kBold, style) + "  " +
         std::string(row->id) + ": " + std::string(row->symptom) + "\n        seen: " + printable(problem.first->seen) +
         "\n        cause: " + std::string(row->cause) + "\n        fix: " + std::string(row->fix) + "\n";
}

/// A line with the rows that have this status on all nodes; empty without such rows.
std::string folded(const std::vector<Finding>& findings, CheckStatus status, const TextStyle& style) {
  std::vector<std::string> rows;
  for (const Finding& finding : findings) {
    const bool everywhere = std::all_of(findings.begin(), findings.end(), [&](const Finding& other) {
      return other.row != finding.row || other.status == status;
    });
    if (!everywhere || std::find(rows.begin(), rows.end(), finding.row->id) != rows.end()) continue;
    rows.emplace_back(finding.row->id);
  }
  return rows.empty() ? "" : status_word(status, style) + "  " + join(rows, ", ") + "\n";
}

}  // namespace

std::string to_text(const VerifyReport& report, const TextStyle& style) {
  std::string text;
  for (const CheckGroup& group : ranked_groups_of(report.checks)) {
    if (style.quiet && group.first->status == CheckStatus::kPass) continue;
    text += line_of(group, style);
  }
  text += lines_of_nodes(report.run) + summary_of(report);
  if (!style.quiet) {
    text += matrices(report.checks, style);
    for (const std::string& table : report.tables) text += table;
  }
  return text + verdict_of(report) + "\n";
}

std::string to_text(const DoctorReport& report, const TextStyle& style) {
  std::string text;
  for (const Problem& problem : problems_in(report.findings)) text += text_of(problem, style);
  if (!style.quiet) {
    text += folded(report.findings, CheckStatus::kPass, style) + folded(report.findings, CheckStatus::kSkip, style);
  }
  const StatusCounts counts = count_by_status(report.findings);
  return text + lines_of_nodes(report.run) +
         fmt::format("Doctor: {} failed, {}, {} passed, {} skipped. {:.2f} s\n", counts.fail,
                     counted(counts.warn, "warning"), counts.pass, counts.skip, report.run.duration.count());
}

}  // namespace sparkplan
