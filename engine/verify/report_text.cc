#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/core/text.h"
#include "engine/plan/change_text.h"
#include "engine/verify/number_text.h"
#include "engine/verify/report_matrix.h"
#include "engine/verify/verify_run.h"
#include "engine/verify/what.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostPairs = 3;

/// The cause, where it matters which one it is.
std::string reason(const Check& check) {
  const bool below = check.status == CheckStatus::kSkip && check.cause.ends_with(" failed");
  return below ? "a check below failed" : check.cause;
}

/// Checks of which the same is to be said.
struct CheckGroup {
  const Check* first = nullptr;
  std::string what;
  std::vector<const Check*> checks;

  /// Failures and warnings share their line only where every word of it is true of both; what went well
  /// may differ in its value, and what was skipped in the check below that is in its way.
  bool takes(const Check& check, const std::string& of_what) const {
    const bool same = first->level == check.level && first->status == check.status && what == of_what &&
                      first->text == check.text && first->unit == check.unit &&
                      first->nodes.size() == check.nodes.size() && reason(*first) == reason(check) &&
                      first->fix == check.fix;
    const bool may_differ = check.status == CheckStatus::kPass;
    return same && (may_differ || first->value == check.value);
  }
};

/// What matters most stands where the eye ends up.
int rank(CheckStatus status) {
  switch (status) {
    case CheckStatus::kPass:
      return 0;
    case CheckStatus::kSkip:
      return 1;
    case CheckStatus::kWarn:
      return 2;
    case CheckStatus::kFail:
      break;
  }
  return 3;
}

std::vector<CheckGroup> groups_of(const std::vector<Check>& checks) {
  std::vector<CheckGroup> groups;
  for (const Check& check : checks) {
    const auto what = what_of(check);
    const auto same =
        std::find_if(groups.begin(), groups.end(), [&](const auto& one) { return one.takes(check, what); });
    if (same != groups.end()) {
      same->checks.push_back(&check);
    } else {
      groups.push_back({&check, what, {&check}});
    }
  }
  std::stable_sort(groups.begin(), groups.end(), [](const CheckGroup& a, const CheckGroup& b) {
    return rank(a.first->status) < rank(b.first->status);
  });
  return groups;
}

std::string status_word(CheckStatus status, const TextStyle& style) {
  switch (status) {
    case CheckStatus::kPass:
      return paint("pass", Colour::kGreen, style);
    case CheckStatus::kWarn:
      return paint("warn", Colour::kYellow, style);
    case CheckStatus::kFail:
      return paint("FAIL", Colour::kRed, style);
    case CheckStatus::kSkip:
      break;
  }
  return paint("skip", Colour::kDim, style);
}

/// "spark-01 -> spark-02" for few pairs, "spark-[01-08], 56 pairs" for many.
std::string nodes_text(const CheckGroup& group) {
  const bool pairs = group.first->nodes.size() == 2;
  if (pairs && group.checks.size() <= kMostPairs) {
    std::vector<std::string> names;
    for (const Check* check : group.checks) {
      names.push_back(printable(check->nodes[0]) + " -> " + printable(check->nodes[1]));
    }
    return join(names, ", ");
  }
  std::vector<std::string> names;
  for (const Check* check : group.checks) {
    for (const auto& node : check->nodes) {
      auto name = printable(node);
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  return fold_names(names) + (pairs ? ", " + counted(group.checks.size(), "pair") : "");
}

/// "9000 bytes", "41.2 to 43.0 Gb/s"
std::string values_text(const CheckGroup& group) {
  if (!group.first->value) return "";
  double least = *group.first->value;
  double most = least;
  for (const Check* check : group.checks) {
    least = std::min(least, *check->value);
    most = std::max(most, *check->value);
  }
  const std::string range =
      number_text(least) == number_text(most) ? number_text(least) : number_text(least) + " to " + number_text(most);
  return range + " " + printable(group.first->unit);
}

std::string line_of(const CheckGroup& group, const TextStyle& style) {
  const Check& check = *group.first;
  std::string said = printable(check.text);
  const auto values = values_text(group);
  if (!values.empty()) said += (said.empty() ? "" : ": ") + values;
  if (check.status == CheckStatus::kSkip) {
    const bool one_cause = std::all_of(group.checks.begin(), group.checks.end(),
                                       [&](const Check* other) { return other->cause == check.cause; });
    said = printable(one_cause ? check.cause : reason(check));
  }
  std::string text = status_word(check.status, style) + fmt::format("  {:<7}  ", to_string(check.level)) +
                     paint(nodes_text(group), Colour::kBold, style);
  if (!group.what.empty()) text += "  " + printable(group.what);
  text += "  " + said + "\n";
  if (check.status != CheckStatus::kWarn && check.status != CheckStatus::kFail) return text;
  if (!check.cause.empty()) text += "        cause: " + printable(check.cause) + "\n";
  if (!check.fix.empty()) text += "        fix: " + printable(check.fix) + "\n";
  return text;
}

std::string lines_about_nodes(const Report& run) {
  std::string text;
  for (const NodeReport& node : run.nodes) {
    if (!node.error) continue;
    Error error = *node.error;
    if (!error.context.empty() && error.context.front() == node.name) error.context.erase(error.context.begin());
    const bool unreachable = node.status == NodeStatus::kUnreachable;
    text += "! " + printable(node.name) + (unreachable ? " unreachable: " : " failed: ") + printable(error.describe()) +
            "\n";
    if (!error.hint.empty()) text += "    hint: " + printable(error.hint) + "\n";
  }
  return text;
}

std::string summary(const VerifyReport& report) {
  const CheckCounts counts = count(report.checks);
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
  if (left_out > 0) text += ". " + counted(left_out, "node") + " left out";
  if (report.run.interrupted) text += ". Interrupted";
  return text + fmt::format(". {:.2f} s\n", report.run.duration.count());
}

}  // namespace

std::string to_text(const VerifyReport& report, const TextStyle& style) {
  std::string text;
  for (const CheckGroup& group : groups_of(report.checks)) {
    const auto status = group.first->status;
    if (style.quiet && (status == CheckStatus::kPass || status == CheckStatus::kSkip)) continue;
    text += line_of(group, style);
  }
  text += lines_about_nodes(report.run) + summary(report);
  if (style.quiet) return text;
  text += matrices(report.checks);
  for (const std::string& table : report.tables) text += table;
  return text;
}

}  // namespace sparkplan
