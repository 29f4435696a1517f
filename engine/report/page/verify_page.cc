// The page of `verify`.
#include <map>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/report/checks/check_groups.h"
#include "engine/report/checks/check_report.h"
#include "engine/report/checks/verify_verdict.h"
#include "engine/report/page/cluster_sections.h"
#include "engine/report/page/heat_map.h"
#include "engine/report/page/history_section.h"
#include "engine/report/page/html_report.h"
#include "engine/report/page/problem_cards.h"
#include "engine/verify/measured_history.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostRows = 300;

std::string title_of(const Check& check) {
  std::string title(to_string(check.level));
  if (!check.what.empty()) title += " " + check.what;
  return title + (check.text.empty() ? "" : ": " + check.text);
}

/// "spark-01 -> spark-02: 1500 bytes, threshold 9000 bytes"
std::string place_of(const Check& check) {
  std::string text = check.nodes.size() == 2 ? check.nodes[0] + " -> " + check.nodes[1] : fold_names(check.nodes);
  if (check.value) text += ": " + number_text(*check.value) + " " + check.unit;
  if (check.value && check.threshold) text += ", threshold " + number_text(*check.threshold) + " " + check.unit;
  return text;
}

/// Problems of one kind with the same remedy share a card. A cause that all have is there once.
std::vector<ProblemCard> cards_of(const std::vector<Check>& checks) {
  std::vector<std::vector<const Check*>> groups;
  std::map<std::string, std::size_t> places;
  for (const Check& check : checks) {
    if (!is_problem(check.status)) continue;
    const std::string key = std::string(to_string(check.status)) + "\n" + title_of(check) + "\n" + check.fix;
    const auto [place, is_first] = places.emplace(key, groups.size());
    if (is_first) groups.emplace_back();
    groups[place->second].push_back(&check);
  }
  std::vector<ProblemCard> cards;
  for (const auto& group : groups) {
    const Check& first = *group.front();
    bool one_cause = true;
    for (const Check* check : group) one_cause = one_cause && check->cause == first.cause;
    ProblemCard card{first.status, title_of(first), {}, "", one_cause ? first.cause : "", first.fix};
    for (const Check* check : group) card.places.push_back(place_of(*check) + (one_cause ? "" : ": " + check->cause));
    cards.push_back(std::move(card));
  }
  return cards;
}

/// Checks without a problem, of one kind.
struct CheckRow {
  CheckGroup group;
  bool one_text = true;
};

std::vector<CheckRow> rows_of(const std::vector<Check>& checks) {
  std::vector<CheckRow> rows;
  std::map<std::string, std::size_t> places;
  for (const Check& check : checks) {
    if (is_problem(check.status)) continue;
    std::string key = std::string(to_string(check.status)) + "\n" + std::string(to_string(check.level)) + "\n" +
                      check.what + "\n" + std::to_string(check.nodes.size()) + "\n" + check.unit;
    if (check.status == CheckStatus::kSkip) key += "\n" + shared_reason(check) + "\n" + check.fix;
    const auto [place, is_first] = places.emplace(key, rows.size());
    if (is_first) rows.push_back({{&check, {}}, true});
    CheckRow& row = rows[place->second];
    row.group.checks.push_back(&check);
    row.one_text = row.one_text && row.group.first->text == check.text;
  }
  return rows;
}

std::string result_of(const CheckRow& row) {
  const Check& first = *row.group.first;
  if (first.status == CheckStatus::kSkip) {
    return shown_text(shared_reason(first) + (first.fix.empty() ? "" : ". To have it checked: " + first.fix),
                      kLongestPageText);
  }
  std::string text = shown_text(first.text, kLongestPageText) + (row.one_text ? "" : " (and similar)");
  const std::string values = values_text(row.group);
  return values.empty() ? text : text + (text.empty() ? "" : ": ") + values;
}

void add_checks(Page& page, const std::vector<Check>& checks) {
  const auto rows = rows_of(checks);
  if (rows.empty()) return;
  Markup& body = page.section("checks", "Passed and skipped checks");
  open_table(body, "plain", "Checks of one kind share a row",
             {"level", "status", "check", "number", "nodes", "result"});
  std::size_t shown = 0;
  for (const CheckRow& row : rows) {
    if (shown == kMostRows || body.size() > kMostSectionBytes) break;
    ++shown;
    const Check& first = *row.group.first;
    body.open("tr").element("th", {{"scope", "row"}}, to_string(first.level)).open("td");
    write_status(body, first.status);
    body.close().element("td", first.what).element("td", std::to_string(row.group.checks.size()));
    body.element("td", nodes_text(row.group)).element("td", result_of(row)).close().newline();
  }
  close_table(body);
  if (shown < rows.size()) {
    body.element("p", "And " + counted(rows.size() - shown, "more row") + ": --json has every check.").newline();
  }
}

CheckStatus status_of(const VerifyReport& report) {
  const StatusCounts counts = count_by_status(report.checks);
  for (const NodeReport& node : report.run.nodes) {
    if (node.error) return CheckStatus::kFail;
  }
  if (counts.fail > 0) return CheckStatus::kFail;
  if (counts.warn > 0) return CheckStatus::kWarn;
  return counts.pass > 0 ? CheckStatus::kPass : CheckStatus::kSkip;
}

}  // namespace

std::string to_html(const VerifyReport& report, const PageContext& context) {
  const StatusCounts counts = count_by_status(report.checks);
  Page page(report.run, context.version);
  page.verdict(status_of(report), verdict_of(report) + ". " + std::to_string(counts.pass) + " passed, " +
                                      counted(counts.warn, "warning") + ", " + std::to_string(counts.fail) +
                                      " failed, " + std::to_string(counts.skip) + " skipped.");
  auto cards = cards_of_nodes(report.run);
  for (ProblemCard& card : cards_of(report.checks)) cards.push_back(std::move(card));
  add_problems(page, std::move(cards));
  add_cabling(page, cabling_with(context.cluster, report.snapshots, report.checks));
  add_heat_maps(page, report.checks);
  add_size_charts(page, report.checks);
  add_history(page, report.measured, check_histories(context.cluster, report.measured), report.run.run);
  add_checks(page, report.checks);
  add_versions(page, report.snapshots);
  add_findings(page, report.run.diagnostics);
  return std::move(page).html();
}

}  // namespace sparkplan
