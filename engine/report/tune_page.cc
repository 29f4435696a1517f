// The page of `tune`.
#include <algorithm>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/report/page/page.h"
#include "engine/report/page/problem_cards.h"
#include "engine/report/text/text_style.h"
#include "engine/report/tune_report.h"
#include "engine/verify/check.h"
#include "engine/verify/nccl_choice.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostPairRows = 500;

void add_settings(Page& page, const TuneReport& report) {
  if (report.search.tried.empty()) return;
  Markup& body = page.section("settings", "What was tried");
  open_table(body, "plain", "Settings of NCCL", {"setting", "gain", "95 % interval", "pairs", "chance", "result"});
  for (const TriedSetting& tried : report.search.tried) {
    const TuneComparison& measured = tried.comparison;
    const bool any = measured.pairs > 0;
    write_row(body, {variables_text(tried.variables), any ? gain_text(measured.gain) : "-",
                     any ? interval_text(measured) : "", std::to_string(measured.pairs),
                     tried.confirmed ? number_text(measured.chance * 100) + " %" : "-",
                     shown_text(result_text(tried), kLongestPageText)});
  }
  close_table(body);
}

void add_points_of(Markup& body, const TriedSetting& tried) {
  open_table(body, "plain", variables_text(tried.variables) + ", " + counted(tried.comparison.pairs, "pair"),
             {"operation", "size", "gain"});
  for (const PointGain& point : tried.comparison.points) {
    write_row(body, {std::string(to_string(point.collective)), size_text(point.bytes), point_gain_text(point)});
  }
  close_table(body);
}

/// The gain at each size: of each accepted setting, then of those that the user could set by hand.
void add_points(Page& page, const TuneReport& report) {
  Markup* accepted = nullptr;
  for (const TriedSetting& tried : report.search.tried) {
    if (tried.verdict != TuneVerdict::kAccepted) continue;
    if (accepted == nullptr) accepted = &page.section("sizes", "Gain by size");
    add_points_of(*accepted, tried);
  }
  Markup* refused = nullptr;
  for (const TriedSetting& tried : report.search.tried) {
    if (!is_trade_off(tried)) continue;
    if (refused == nullptr) {
      refused = &page.section("trade-offs", "Refused, but faster at some sizes");
      refused->element("p", "You can set one by hand if those sizes count for your jobs.").newline();
    }
    add_points_of(*refused, tried);
  }
}

/// Every pair in the order of time: who doubts a result can see the runs behind it.
void add_pairs_in_order(Page& page, const TuneReport& report) {
  const auto& history = report.search.history;
  if (history.empty()) return;
  Markup& body = page.section("history", "Every pair");
  body.open("details").element("summary", counted(history.size(), "pair") + " in the order of time").newline();
  open_table(body, "plain", "Pairs of runs", {"pair", "purpose", "with", "compared with", "first run", "gain"});
  const std::size_t shown = std::min(history.size(), kMostPairRows);
  for (std::size_t at = 0; at < shown; ++at) {
    const PastPair& past = history[at];
    const auto gain = gain_of(past.pair);
    write_row(body, {std::to_string(at + 1), std::string(to_string(past.phase)), variables_text(past.after),
                     variables_text(past.before), past.after_first ? "with" : "compared with",
                     gain ? gain_text(*gain) : "-"});
  }
  close_table(body);
  if (shown < history.size()) {
    body.element("p", "And " + counted(history.size() - shown, "more pair") + ": --json has every pair.").newline();
  }
  body.close().newline();
}

}  // namespace

std::string to_html(const TuneReport& report, const PageContext& context) {
  auto cards = cards_of_nodes(report.run);
  if (report.trouble) {
    ProblemCard card;
    card.status = CheckStatus::kFail;
    card.title = "The search ended early";
    card.cause = report.trouble->describe();
    card.fix = report.trouble->hint;
    cards.push_back(std::move(card));
  }
  Page page(report.run, context.version);
  page.verdict(cards.empty() ? CheckStatus::kPass : CheckStatus::kFail, verdict_of(report) + ".");
  add_problems(page, std::move(cards));
  if (!report.proposed().empty()) {
    // A text of Markup has one line.
    Markup& body = page.section("fragment", "For cluster.yaml");
    const std::string fragment = yaml_fragment(report);
    body.open("pre", {{"tabindex", "0"}});
    for (const std::string_view line : split_lines(fragment)) body.text(line).newline();
    body.close().newline();
  }
  add_settings(page, report);
  add_points(page, report);
  add_pairs_in_order(page, report);
  add_findings(page, report.run.diagnostics);
  return std::move(page).html();
}

}  // namespace sparkplan
