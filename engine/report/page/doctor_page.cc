// The page of `doctor`.
#include <map>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/checks/doctor_rows.h"
#include "engine/report/page/cluster_sections.h"
#include "engine/report/page/html_report.h"
#include "engine/report/page/problem_cards.h"

namespace sparkplan {
namespace {

/// Problems of one row share a card, with one place for each of them.
std::vector<ProblemCard> cards_of(const std::vector<DoctorProblem>& problems) {
  std::vector<ProblemCard> cards;
  std::map<std::string, std::size_t> places;
  for (const DoctorProblem& problem : problems) {
    const Finding& first = *problem.first;
    const std::string key = std::string(to_string(first.status)) + "\n" + std::string(first.row->id);
    const auto [place, is_first] = places.emplace(key, cards.size());
    if (is_first) {
      cards.push_back({first.status,
                       std::string(first.row->id) + ": " + std::string(first.row->symptom),
                       {},
                       "",
                       std::string(first.row->cause),
                       std::string(first.row->fix)});
    }
    cards[place->second].places.push_back(fold_names(problem.nodes) + ": " + first.seen);
  }
  return cards;
}

/// The nodes of one row with one status and, for skipped ones, one reason.
struct RowOutcome {
  const Finding* first = nullptr;
  std::vector<std::string> nodes;
};

void add_rows(Page& page, const std::vector<Finding>& findings) {
  std::vector<RowOutcome> outcomes;
  std::map<std::string, std::size_t> places;
  for (const Finding& finding : findings) {
    if (is_problem(finding.status)) continue;
    std::string key = std::string(to_string(finding.status)) + "\n" + std::string(finding.row->id);
    if (finding.status == CheckStatus::kSkip) key += "\n" + finding.seen;
    const auto [place, is_first] = places.emplace(key, outcomes.size());
    if (is_first) outcomes.push_back({&finding, {}});
    auto& nodes = outcomes[place->second].nodes;
    nodes.insert(nodes.end(), finding.nodes.begin(), finding.nodes.end());
  }
  if (outcomes.empty()) return;
  Markup& body = page.section("rows", "What was examined");
  body.element("p",
               "Each failure and each warning counts. A row without one counts once: as passed if a node passed it, "
               "else as skipped.")
      .newline();
  open_table(body, "plain", "Passed and skipped rows, with their nodes", {"row", "status", "nodes", "read from"});
  std::size_t shown = 0;
  for (const RowOutcome& outcome : outcomes) {
    if (body.size() > kMostSectionBytes) break;
    ++shown;
    const Finding& first = *outcome.first;
    body.open("tr").element("th", {{"scope", "row"}}, first.row->id).open("td");
    write_status(body, first.status);
    body.close().element("td", fold_names(outcome.nodes));
    body.element("td", first.status == CheckStatus::kSkip ? shown_text(first.seen, kLongestPageText)
                                                          : std::string(first.row->read));
    body.close().newline();
  }
  close_table(body);
  if (shown < outcomes.size()) {
    body.element("p", "And " + counted(outcomes.size() - shown, "more row") + ": --json has every finding.").newline();
  }
}

}  // namespace

std::string to_html(const DoctorReport& report, const PageContext& context) {
  const DoctorRows rows = doctor_rows(report.findings);
  auto cards = cards_of_nodes(report.run);
  for (ProblemCard& card : cards_of(rows.problems)) cards.push_back(std::move(card));
  CheckStatus status = cards.empty() ? CheckStatus::kPass : CheckStatus::kWarn;
  for (const ProblemCard& card : cards) {
    if (card.status == CheckStatus::kFail) status = CheckStatus::kFail;
  }
  Page page(report.run, context.version);
  page.verdict(status, rows.counts_text() + " on " + counted(report.run.nodes.size(), "node") + ".");
  add_problems(page, std::move(cards));
  add_cabling(page, cabling_with(context.cluster, report.snapshots));
  add_rows(page, report.findings);
  add_versions(page, report.snapshots);
  add_findings(page, report.run.diagnostics);
  return std::move(page).html();
}

}  // namespace sparkplan
