#include "engine/report/page/problem_cards.h"

#include <algorithm>

#include "engine/core/bounded_text.h"
#include "engine/report/plan/report.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostPlaces = 12;

void write_term(Markup& body, Constant term, const std::string& text) {
  if (text.empty()) return;
  body.element("dt", term.text()).element("dd", shown_text(text, kLongestPageText)).newline();
}

void write_places(Markup& body, const std::vector<std::string>& places) {
  if (places.empty()) return;
  body.element("dt", "where").open("dd");
  if (places.size() == 1) {
    body.text(shown_text(places.front(), kLongestPageText)).close().newline();
    return;
  }
  const std::size_t shown = std::min(places.size(), kMostPlaces);
  body.open("ul").newline();
  for (std::size_t at = 0; at < shown; ++at) {
    body.element("li", shown_text(places[at], kLongestPageText)).newline();
  }
  if (shown < places.size()) body.element("li", "and " + std::to_string(places.size() - shown) + " more");
  body.close().close().newline();
}

void write_card(Markup& body, const ProblemCard& card) {
  body.open("article", {{"class", card.status == CheckStatus::kFail ? "fail" : "warn"}}).newline();
  body.open("h3");
  write_status(body, card.status);
  body.raw(" ").text(shown_text(card.title, kLongestPageText)).close().newline();
  body.open("dl").newline();
  write_places(body, card.places);
  write_term(body, "seen", card.seen);
  write_term(body, "cause", card.cause);
  write_term(body, "fix", card.fix);
  body.close().close().newline();
}

}  // namespace

std::vector<ProblemCard> cards_of_nodes(const Report& run) {
  std::vector<ProblemCard> cards;
  for (const NodeReport& node : run.nodes) {
    if (!node.error) continue;
    const bool unreachable = node.status == NodeStatus::kUnreachable;
    cards.push_back({CheckStatus::kFail,
                     node.name + (unreachable ? " is unreachable" : " failed"),
                     {},
                     "",
                     error_text(node),
                     node.error->hint});
  }
  return cards;
}

void add_problems(Page& page, std::vector<ProblemCard> cards) {
  Markup& body = page.section("problems", "Failures and warnings");
  if (cards.empty()) {
    body.element("p", "None.").newline();
    return;
  }
  std::stable_partition(cards.begin(), cards.end(),
                        [](const ProblemCard& card) { return card.status == CheckStatus::kFail; });
  std::size_t shown = 0;
  for (const ProblemCard& card : cards) {
    if (body.size() > kMostSectionBytes) break;
    write_card(body, card);
    ++shown;
  }
  if (shown == cards.size()) return;
  body.element("p", "And " + counted(cards.size() - shown, "more problem") + ": --json has all of them.").newline();
}

}  // namespace sparkplan
