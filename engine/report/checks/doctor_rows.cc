#include "engine/report/checks/doctor_rows.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "engine/report/checks/check_report.h"

namespace sparkplan {
namespace {

std::vector<DoctorProblem> problems_in(const std::vector<Finding>& findings) {
  std::vector<DoctorProblem> problems;
  for (const Finding& finding : findings) {
    if (!is_problem(finding.status)) continue;
    const auto same = std::find_if(problems.begin(), problems.end(), [&](const DoctorProblem& one) {
      return one.first->row == finding.row && one.first->status == finding.status && one.first->seen == finding.seen;
    });
    if (same == problems.end()) {
      problems.push_back({&finding, finding.nodes});
    } else {
      same->nodes.insert(same->nodes.end(), finding.nodes.begin(), finding.nodes.end());
    }
  }
  for (DoctorProblem& problem : problems) std::sort(problem.nodes.begin(), problem.nodes.end());
  std::stable_partition(problems.begin(), problems.end(),
                        [](const DoctorProblem& problem) { return problem.first->status == CheckStatus::kFail; });
  return problems;
}

void add_quiet_rows(const std::vector<Finding>& findings, DoctorRows& rows) {
  std::vector<RowId> order;
  std::map<std::string_view, CheckStatus> worst;  // Of a problem, of a pass, or of a skip.
  const auto rank = [](CheckStatus status) { return is_problem(status) ? 2 : status == CheckStatus::kPass ? 1 : 0; };
  for (const Finding& finding : findings) {
    const auto [place, is_new] = worst.emplace(finding.row->id, finding.status);
    if (is_new) order.push_back(finding.row);
    if (rank(finding.status) > rank(place->second)) place->second = finding.status;
  }
  for (const RowId& row : order) {
    const CheckStatus status = worst.at(row->id);
    if (is_problem(status)) continue;
    (status == CheckStatus::kPass ? rows.passed : rows.skipped).emplace_back(row->id);
  }
}

}  // namespace

std::string DoctorRows::counts_text() const {
  const auto failed = static_cast<std::size_t>(std::count_if(
      problems.begin(), problems.end(), [](const auto& one) { return one.first->status == CheckStatus::kFail; }));
  return std::to_string(failed) + " failed, " + counted(problems.size() - failed, "warning") + ", " +
         std::to_string(passed.size()) + " passed, " + std::to_string(skipped.size()) + " skipped";
}

DoctorRows doctor_rows(const std::vector<Finding>& findings) {
  DoctorRows rows;
  rows.problems = problems_in(findings);
  add_quiet_rows(findings, rows);
  return rows;
}

}  // namespace sparkplan
