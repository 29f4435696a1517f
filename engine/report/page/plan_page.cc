// The page of `plan`.
#include <algorithm>
#include <span>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/report/nodes/status_report.h"
#include "engine/report/page/cluster_sections.h"
#include "engine/report/page/html_report.h"
#include "engine/report/page/problem_cards.h"
#include "engine/report/plan/grouped_plan.h"
#include "engine/report/plan/plan_for_others.h"
#include "engine/report/plan/report.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostBodyBytes = 30'000;  // Of the diffs and notes of one change.
constexpr std::size_t kMostValueColumns = 60;   // A row is not cut: it could be larger than its section.

Constant css_of(std::string_view line) {
  if (line.starts_with('+')) return "da";
  if (line.starts_with('-')) return "dr";
  return "dh";
}

void write_body(Markup& body, const ChangeGroup& group) {
  body.open("details").element("summary", "Details of " + group.text.name).newline();
  body.open("pre", {{"tabindex", "0"}});
  const std::size_t begin = body.size();
  std::size_t left = group.text.body.size();
  for (const BodyLine& line : group.text.body) {
    if (body.size() - begin > kMostBodyBytes) break;
    --left;
    if (line.verbatim) {
      body.element("span", {{"class", std::string(css_of(line.part.text).text())}}, line.part.text).newline();
    } else {
      body.text(line.part.text).newline();
    }
  }
  if (left > 0) body.text("and " + counted(left, "more line")).newline();
  body.close().close().newline();
}

/// One table per type, with the diffs below it.
void add_changes(Page& page, const GroupedPlan& plan) {
  if (plan.types.empty()) return;
  Markup& body = page.section("changes", "Changes");
  std::size_t left = 0;
  for (const TypeChanges& type : plan.types) {
    if (body.size() > kMostSectionBytes) {
      left += type.groups.size();
      continue;
    }
    body.element("h3", type.type).newline();
    open_table(body, "plain", "Changes of " + type.type, {"name", "what", "change", "nodes"});
    for (const ChangeGroup& group : type.groups) {
      if (body.size() > kMostSectionBytes) {
        ++left;
        continue;
      }
      write_row(body, {shown_text(group.text.name),
                       std::string(1, group.text.symbol) + " " + std::string(word_of_symbol(group.text.symbol)),
                       shown_text(change_words(group.text), kLongestPageText), nodes_of(group)});
    }
    close_table(body);
    for (const ChangeGroup& group : type.groups) {
      if (!group.text.body.empty() && body.size() <= kMostSectionBytes) write_body(body, group);
    }
  }
  if (left > 0) body.element("p", "And " + counted(left, "more change") + ": --json has all of them.").newline();
}

void add_values_per_node(Page& page, const GroupedPlan& plan, const Report& report) {
  if (plan.table.columns.empty()) return;
  Markup& body = page.section("values", "Values that differ from node to node");
  const auto shown = std::span(plan.table.columns).first(std::min(plan.table.columns.size(), kMostValueColumns));
  std::vector<std::string> columns{"node"};
  for (const NodeTable::Column& column : shown) {
    columns.push_back(shown_text(column.name + (column.label.empty() ? "" : " " + column.label)));
  }
  open_table(body, "plain", "Values per node", columns);
  std::size_t left = 0;
  for (const NodeReport& node : report.nodes) {
    if (body.size() > kMostSectionBytes) {
      ++left;
      continue;
    }
    std::vector<std::string> cells{node.name};
    bool any = false;
    for (const NodeTable::Column& column : shown) {
      const auto found = column.cells.find(printable(node.name));
      any = any || found != column.cells.end();
      cells.push_back(found == column.cells.end() ? "" : shown_text(found->second));
    }
    if (any) write_row(body, cells);
  }
  close_table(body);
  if (left > 0) body.element("p", "And " + counted(left, "more node") + ": --json has all of them.").newline();
  if (shown.size() < plan.table.columns.size()) {
    const std::size_t more = plan.table.columns.size() - shown.size();
    body.element("p", "And " + counted(more, "more column") + ": --json has all of them.").newline();
  }
}

void add_nodes(Page& page, const Report& report) {
  Markup& body = page.section("nodes", "Nodes");
  open_table(body, "plain", "Nodes and their changes", {"node", "address", "state", "pending", "drift or foreign"});
  for (const NodeReport& node : report.nodes) {
    write_row(body, {node.name, shown_text(node.address), state_words(node),
                     std::to_string(count_changes(node.plan, false)), std::to_string(count_changes(node.plan, true))});
  }
  close_table(body);
}

std::vector<ProblemCard> cards_of(const Report& report, const GroupedPlan& plan) {
  auto cards = cards_of_nodes(report);
  for (const ChangeGroup& group : plan.blocked) {
    ProblemCard card{CheckStatus::kFail, group.text.type + " " + group.text.name, {nodes_of(group)}};
    card.cause = change_words(group.text);
    for (const BodyLine& line : group.text.body) card.fix += (card.fix.empty() ? "" : "; ") + line.part.text;
    cards.push_back(std::move(card));
  }
  return cards;
}

CheckStatus status_of(const Report& report, bool problems) {
  if (problems || has_errors(report.diagnostics)) return CheckStatus::kFail;
  for (const NodeReport& node : report.nodes) {
    if (!node.plan.changes.empty()) return CheckStatus::kWarn;
  }
  return report.nodes.empty() ? CheckStatus::kSkip : CheckStatus::kPass;
}

}  // namespace

std::string to_html(Report whole, const std::vector<NodeSnapshot>& snapshots, const PageContext& context) {
  const Report report = for_others(std::move(whole), context.cluster);
  const GroupedPlan plan = grouped_plan(report);
  auto cards = cards_of(report, plan);
  Page page(report, context.version);
  page.verdict(status_of(report, !cards.empty()), verdict_line(report));
  add_problems(page, std::move(cards));
  add_changes(page, plan);
  add_values_per_node(page, plan, report);
  add_nodes(page, report);
  add_cabling(page, cabling_with(context.cluster, snapshots));
  add_versions(page, snapshots);
  add_findings(page, report.diagnostics);
  return std::move(page).html();
}

}  // namespace sparkplan
