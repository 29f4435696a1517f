#include "engine/report/page/history_section.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <span>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/fleet/history/history.h"
#include "engine/markup/sparkline.h"
#include "engine/report/checks/measured_history_report.h"
#include "engine/verify/check.h"

namespace sparkplan {
namespace {

/// Of a page of few nodes, whose heat maps are small: all checks of eight nodes fit. A page of 64 nodes stays below 2
/// MB with the other one.
constexpr std::size_t kMostHistoryBytes = 600'000;
constexpr std::size_t kMostHistoryBytesOfMany = 100'000;
constexpr std::size_t kFewNodes = 16;
/// One node can invent checks. Those of the others come first.
constexpr std::size_t kMostHistoriesOfOneNode = 200;
constexpr std::size_t kMostNamedValues = 10;
constexpr std::size_t kMostDrawnRuns = 50;  // A node keeps no more of a check.
constexpr std::size_t kLongestCheckId = 200;
constexpr std::size_t kLongestNote = 200;
constexpr std::size_t kMostUnreadNodes = 20;
constexpr double kPercent = 100;

/// "10 values, the newest last: 24.1, 24, 20.4": what the line shows.
std::string name_of_line(const std::vector<double>& values, const std::string& unit) {
  std::vector<std::string> texts;
  const std::size_t first = values.size() > kMostNamedValues ? values.size() - kMostNamedValues : 0;
  for (std::size_t at = first; at < values.size(); ++at) texts.push_back(number_text(values[at]));
  return counted(values.size(), "value") + (first > 0 ? ", the last " + std::to_string(texts.size()) + ": " : ": ") +
         join(texts, ", ") + (unit.empty() ? "" : " " + unit);
}

std::vector<double> numbers_of(const CheckHistory& history) {
  std::vector<double> numbers;
  for (const PastValue& value : history.values) numbers.push_back(value.value);
  return numbers;
}

/// The run to compare with: the newest one before `run`. One node alone can invent a run, so one of several nodes comes
/// first if this run has several, too. Null without one.
const PastRun* run_before(const std::vector<PastRun>& runs, const std::string& run, bool of_several) {
  const PastRun* newest = nullptr;
  for (const PastRun& one : runs) {
    if (one.run >= run) continue;
    if (newest == nullptr) newest = &one;
    if (!of_several || one.nodes.size() > 1) return &one;
  }
  return newest;
}

/// "+1.2 %"
std::string gap_text(double before, double now) {
  const double percent = (now - before) / before * kPercent;
  if (!std::isfinite(percent)) return "";
  const std::string sign = percent < 0 ? "\u2212" : "+";
  return sign + number_text(std::fabs(percent)) + " %";
}

void write_line_cell(Markup& body, const std::vector<double>& values, const std::string& unit,
                     std::optional<std::size_t> change = {}) {
  body.open("td");
  draw(body, Sparkline{name_of_line(values, unit), values, change});
  body.close();
}

/// This run and those before it, the oldest first. If this run has several nodes, those of one node are left out: one
/// node can invent a thousand of them.
std::vector<const PastRun*> drawn_runs(std::span<const PastRun> runs) {
  const bool of_several = runs.front().nodes.size() > 1;
  std::vector<const PastRun*> drawn;
  for (const PastRun& run : runs) {
    if (drawn.size() == kMostDrawnRuns) break;
    if (!of_several || run.nodes.size() > 1) drawn.push_back(&run);
  }
  std::reverse(drawn.begin(), drawn.end());
  return drawn;
}

/// One row for each kind of measurement: the worst value of this run and of the one before it.
void write_kinds(Markup& body, const std::vector<const PastRun*>& drawn, const PastRun* before) {
  const PastRun& now = *drawn.back();
  open_table(body, "num hist", "The worst value of each kind in each run", {"kind", "runs", "before", "now", "change"});
  for (const Figure figure : all_figures()) {
    const auto current = now.figures.find(figure);
    if (current == now.figures.end()) continue;
    std::vector<double> values;
    for (const PastRun* run : drawn) {
      const auto found = run->figures.find(figure);
      if (found != run->figures.end()) values.push_back(found->second.value);
    }
    const std::string unit(unit_of(figure));
    const double value = current->second.value;
    std::optional<double> earlier;
    if (before != nullptr && before->figures.contains(figure)) earlier = before->figures.at(figure).value;
    body.open("tr").element("th", {{"scope", "row"}}, std::string(to_string(figure)));
    write_line_cell(body, values, unit);
    body.element("td", earlier ? number_text(*earlier) + " " + unit : "\u2013");
    body.element("td", number_text(value) + " " + unit);
    body.element("td", earlier ? gap_text(*earlier, value) : "").close().newline();
  }
  close_table(body);
}

/// The comparison with the run before this one.
void write_comparison(Markup& body, const std::vector<PastRun>& runs, const std::string& run) {
  const auto now = std::find_if(runs.begin(), runs.end(), [&](const PastRun& one) { return one.run == run; });
  if (now == runs.end()) {
    body.element("p", "The nodes keep no value of this run.").newline();
    return;
  }
  const PastRun* before = run_before(runs, run, now->nodes.size() > 1);
  body.element("p", before == nullptr ? "The nodes keep no earlier run to compare with."
                                      : "Compared with the run of " + shown_time(time_of_run(before->run)) + " on " +
                                            fold_names(before->nodes) + ".");
  body.newline();
  write_kinds(body, drawn_runs({now, runs.end()}), before);
}

enum class Course : std::uint8_t { kSlower, kFaster, kSteady };

Course course_of(const CheckHistory& history) {
  if (!history.change) return Course::kSteady;
  return history.change->worse ? Course::kSlower : Course::kFaster;
}

/// "slower since 2026-03-13 12:00:00 UTC, one run", then what happened at that time.
void write_course(Markup& body, const CheckHistory& history) {
  if (!history.change) {
    body.element("td", history.values.size() > 1 ? "no step" : "first value");
    return;
  }
  const ValueChange& change = *history.change;
  const std::string since = shown_time(time_of_run(history.values[change.at].run));
  body.open("td");
  body.element("span", {{"class", change.worse ? "slow" : "fast"}}, change.worse ? "\u25bc slower" : "\u25b2 faster");
  body.text((since.empty() ? "" : " since " + since) + (change.lasting ? "" : ", one run"));
  for (const std::string& note : notes_of(history)) body.empty("br").text(shown_text(note, kLongestNote));
  body.close();
}

void write_check(Markup& body, const CheckHistory& history) {
  const auto numbers = numbers_of(history);
  const std::string unit = unit_of(history);
  const auto& change = history.change;
  body.open("tr").element("th", {{"scope", "row"}}, shown_text(history.id, kLongestCheckId));
  write_line_cell(body, numbers, unit, change ? std::optional(change->at) : std::nullopt);
  const double low = *std::min_element(numbers.begin(), numbers.end());
  const double high = *std::max_element(numbers.begin(), numbers.end());
  body.element("td", change               ? number_text(change->before)
                     : numbers.size() > 1 ? number_text(low) + " to " + number_text(high)
                                          : "\u2013");
  body.element("td", number_text(change ? change->after : numbers.back()) + " " + unit);
  write_course(body, history);
  body.close().newline();
}

/// Slower ones, then faster ones, then the others; each in the order of their ids. Those of a node with more of one
/// course than an honest one has come last.
std::vector<const CheckHistory*> in_order(const std::vector<CheckHistory>& checks) {
  std::vector<const CheckHistory*> ordered;
  std::vector<const CheckHistory*> last;
  for (const Course course : {Course::kSlower, Course::kFaster, Course::kSteady}) {
    std::map<std::string, std::size_t> counts;
    for (const CheckHistory& history : checks) {
      if (course_of(history) != course) continue;
      (++counts[history.node] <= kMostHistoriesOfOneNode ? ordered : last).push_back(&history);
    }
  }
  ordered.insert(ordered.end(), last.begin(), last.end());
  return ordered;
}

void write_checks(Markup& body, const std::vector<CheckHistory>& checks, std::size_t most_bytes) {
  if (checks.empty()) return;
  open_table(body, "plain hist", "Each check, slower ones first. A dashed line in a course is a step",
             {"check", "course", "before, or range", "now", "step"});
  std::size_t shown = 0;
  for (const CheckHistory* history : in_order(checks)) {
    if (body.size() > most_bytes) break;
    ++shown;
    write_check(body, *history);
  }
  close_table(body);
  if (shown < checks.size()) {
    body.element("p", "And " + counted(checks.size() - shown, "more check") + ": verify --history --json has all.");
    body.newline();
  }
}

void write_unread(Markup& body, const std::vector<NodeMeasurements>& nodes) {
  std::size_t unread = 0;
  for (const NodeMeasurements& node : nodes) {
    if (!node.error || ++unread > kMostUnreadNodes) continue;
    body.element(
        "p", "The history of " + node.node + " could not be read: " + shown_text(node.error->describe(), kLongestNote));
    body.newline();
  }
  if (unread > kMostUnreadNodes) {
    body.element("p", "And those of " + counted(unread - kMostUnreadNodes, "more node") + ".").newline();
  }
}

}  // namespace

void add_history(Page& page, const std::vector<NodeMeasurements>& nodes, const std::vector<CheckHistory>& checks,
                 const std::string& run) {
  if (nodes.empty()) return;
  Markup& body = page.section("history", "History");
  write_unread(body, nodes);
  if (checks.empty()) {
    body.element("p", "The nodes keep no measurements. A node that was never applied keeps none.").newline();
    return;
  }
  write_comparison(body, past_runs(checks), run);
  body.element("p", "A failed check keeps no value, so a run can look better here than it was.").newline();
  write_checks(body, checks, nodes.size() <= kFewNodes ? kMostHistoryBytes : kMostHistoryBytesOfMany);
}

}  // namespace sparkplan
