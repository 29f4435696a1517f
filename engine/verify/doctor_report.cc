// What `doctor` prints: for people, and as JSON.
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "engine/core/text.h"
#include "engine/core/text_list.h"
#include "engine/doctor/doctor_table.h"
#include "engine/plan/change_text.h"
#include "engine/verify/doctor_run.h"

namespace sparkplan {
namespace {

std::string_view name_of(Verdict verdict) {
  constexpr std::array<std::string_view, 4> kNames{"pass", "warn", "fail", "skip"};
  return kNames.at(static_cast<std::size_t>(verdict));
}

std::int64_t count(const std::vector<Finding>& findings, Verdict verdict) {
  return std::count_if(findings.begin(), findings.end(), [&](const Finding& one) { return one.verdict == verdict; });
}

bool is_problem(const Finding& finding) {
  return finding.verdict == Verdict::kFail || finding.verdict == Verdict::kWarn;
}

/// doctor/NODE/ROW; of what is compared between nodes doctor/all/ROW.
std::string id_of(const Finding& finding) {
  return "doctor/" + (finding.between_nodes ? "all" : finding.nodes.front()) + "/" + std::string(finding.row);
}

Value value_of(const Finding& finding) {
  const DoctorRow& row = doctor_row(finding.row);
  Value value = Value::map({{"id", id_of(finding)},
                            {"level", "doctor"},
                            {"row", finding.row},
                            {"nodes", list_of_texts(finding.nodes)},
                            {"status", name_of(finding.verdict)},
                            {"text", is_problem(finding) ? std::string(row.symptom) : ""},
                            {"seen", finding.seen},
                            {"read", row.read},
                            {"value", Value()},
                            {"unit", Value()},
                            {"threshold", Value()}});
  if (is_problem(finding)) {
    value.set("cause", row.cause);
    value.set("fix", row.fix);
  } else if (finding.verdict == Verdict::kSkip) {
    value.set("cause", finding.seen);
  }
  return value;
}

Value value_of(const NodeReport& node) {
  const bool in_trouble = node.status == NodeStatus::kUnreachable || node.status == NodeStatus::kFailed ||
                          node.status == NodeStatus::kRefused || node.status == NodeStatus::kSkipped;
  Value value = Value::map(
      {{"name", node.name}, {"address", node.address}, {"status", in_trouble ? to_string(node.status) : "examined"}});
  if (!node.error) return value;
  return value.set("error", Value::map({{"code", to_string(node.error->code)},
                                        {"message", node.error->describe()},
                                        {"hint", node.error->hint}}));
}

/// Nodes of which the same is to be said of one row.
struct Problem {
  const Finding* first = nullptr;
  std::vector<std::string> nodes;
};

std::vector<Problem> problems_in(const std::vector<Finding>& findings) {
  std::vector<Problem> problems;
  for (const Finding& finding : findings) {
    if (!is_problem(finding)) continue;
    const auto same = std::find_if(problems.begin(), problems.end(), [&](const Problem& one) {
      return one.first->row == finding.row && one.first->verdict == finding.verdict && one.first->seen == finding.seen;
    });
    if (same == problems.end()) {
      problems.push_back({&finding, finding.nodes});
    } else {
      same->nodes.insert(same->nodes.end(), finding.nodes.begin(), finding.nodes.end());
    }
  }
  std::stable_sort(problems.begin(), problems.end(), [](const Problem& a, const Problem& b) {
    return a.first->verdict == Verdict::kFail && b.first->verdict != Verdict::kFail;
  });
  return problems;
}

std::string text_of(const Problem& problem, const TextStyle& style) {
  const DoctorRow& row = doctor_row(problem.first->row);
  const bool failed = problem.first->verdict == Verdict::kFail;
  std::vector<std::string> names;
  for (const auto& name : problem.nodes) names.push_back(printable(name));
  std::sort(names.begin(), names.end());
  return paint(failed ? "FAIL" : "warn", failed ? Colour::kRed : Colour::kYellow, style) + "  " +
         paint(fold_names(names), Colour::kBold, style) + "  " + std::string(row.id) + ": " + std::string(row.symptom) +
         "\n        seen: " + printable(problem.first->seen) + "\n        cause: " + std::string(row.cause) +
         "\n        fix: " + std::string(row.fix) + "\n";
}

std::vector<std::string> rows_with(const std::vector<Finding>& findings, Verdict verdict) {
  std::vector<std::string> rows;
  for (const Finding& finding : findings) {
    const bool everywhere = std::all_of(findings.begin(), findings.end(), [&](const Finding& other) {
      return other.row != finding.row || other.verdict == verdict;
    });
    if (!everywhere || std::find(rows.begin(), rows.end(), finding.row) != rows.end()) continue;
    rows.emplace_back(finding.row);
  }
  return rows;
}

/// What is well on all nodes, and what none has, in a line each.
std::string folded(const std::vector<Finding>& findings, const TextStyle& style) {
  std::string text;
  const auto passed = rows_with(findings, Verdict::kPass);
  if (!passed.empty()) text += paint("pass", Colour::kGreen, style) + "  " + join(passed, ", ") + "\n";
  const auto skipped = rows_with(findings, Verdict::kSkip);
  if (!skipped.empty()) text += paint("skip", Colour::kDim, style) + "  " + join(skipped, ", ") + "\n";
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

}  // namespace

Value to_json_value(const DoctorReport& report) {
  const Value whole = to_json_value(report.run);
  Value checks{Value::List{}};
  for (const Finding& finding : report.findings) checks.push_back(value_of(finding));
  Value nodes{Value::List{}};
  std::int64_t unreachable = 0;
  for (const NodeReport& node : report.run.nodes) {
    nodes.push_back(value_of(node));
    if (node.status == NodeStatus::kUnreachable) ++unreachable;
  }
  return Value::map({{"format_version", "1.0"},
                     {"command", "doctor"},
                     {"cluster", report.run.cluster},
                     {"file", report.run.file},
                     {"config_digest", report.run.config_digest},
                     {"partial", report.run.partial},
                     {"interrupted", report.run.interrupted},
                     {"nodes", std::move(nodes)},
                     {"checks", std::move(checks)},
                     {"summary", Value::map({{"pass", count(report.findings, Verdict::kPass)},
                                             {"warn", count(report.findings, Verdict::kWarn)},
                                             {"fail", count(report.findings, Verdict::kFail)},
                                             {"skip", count(report.findings, Verdict::kSkip)},
                                             {"nodes", static_cast<std::int64_t>(report.run.nodes.size())},
                                             {"nodes_unreachable", unreachable}})},
                     {"diagnostics", *whole.find("diagnostics")},
                     {"duration_s", report.run.duration.count()}});
}

std::string to_text(const DoctorReport& report, const TextStyle& style) {
  std::string text;
  for (const Problem& problem : problems_in(report.findings)) text += text_of(problem, style);
  if (!style.quiet) text += folded(report.findings, style);
  text += lines_about_nodes(report.run);
  text += fmt::format("Doctor: {} failed, {} to look at, {} well, {} not looked at. {:.2f} s\n",
                      count(report.findings, Verdict::kFail), count(report.findings, Verdict::kWarn),
                      count(report.findings, Verdict::kPass), count(report.findings, Verdict::kSkip),
                      report.run.duration.count());
  return text;
}

}  // namespace sparkplan
