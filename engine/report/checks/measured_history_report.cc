#include "engine/report/checks/measured_history_report.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/fleet/history/history.h"
#include "engine/report/text/error_json.h"
#include "engine/report/text/text_table.h"
#include "engine/verify/check.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostShownRuns = 10;
constexpr std::size_t kMostShownChanges = 30;
// One node can invent runs and checks. Those of the others come first.
constexpr std::size_t kMostRunsOfOneNode = 3;
constexpr std::size_t kMostChangesOfOneNode = 10;
/// An honest node has four.
constexpr std::size_t kMostVersionColumns = 8;

/// Empty without the id of a run.
std::string local_time_of(const std::string& run, const LocalClock& clock) {
  return run.empty() ? "" : local_time_text(time_of_run(run), clock);
}

bool is_slower(const CheckHistory& history) { return history.change && history.change->worse; }
bool is_faster(const CheckHistory& history) { return history.change && !history.change->worse; }

std::string more_text(std::size_t all, std::size_t shown, std::string_view noun) {
  return all > shown ? "and " + counted(all - shown, noun) + ": --json has all\n" : "";
}

/// The places to show, in their order: at most `most`. Of each owner, those behind the first `of_one` come last. What
/// has no owner is of several nodes.
std::vector<std::size_t> fair_choice(const std::vector<std::string>& owners, std::size_t most, std::size_t of_one) {
  std::map<std::string, std::size_t> counts;
  std::vector<std::size_t> chosen;
  std::vector<std::size_t> others;
  for (std::size_t at = 0; at < owners.size(); ++at) {
    const bool is_early = owners[at].empty() || ++counts[owners[at]] <= of_one;
    (is_early ? chosen : others).push_back(at);
  }
  chosen.insert(chosen.end(), others.begin(), others.end());
  chosen.resize(std::min(chosen.size(), most));
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::string runs_table(const std::vector<PastRun>& runs, const LocalClock& clock, const TextStyle& style) {
  TextTable table{{"RUN", "NODES"}, {}, true};
  for (const Figure figure : all_figures()) {
    table.header.push_back(std::string(to_string(figure)) + " " + std::string(unit_of(figure)));
  }
  std::vector<std::string> owners;
  for (const PastRun& run : runs) owners.push_back(run.nodes.size() == 1 ? run.nodes.front() : "");
  const auto shown = fair_choice(owners, kMostShownRuns, kMostRunsOfOneNode);
  for (const std::size_t at : shown) {
    const PastRun& run = runs[at];
    std::vector<std::string> cells{local_time_of(run.run, clock), fold_names(run.nodes)};
    for (const Figure figure : all_figures()) {
      const auto found = run.figures.find(figure);
      cells.push_back(found == run.figures.end() ? "" : number_text(found->second.value));
    }
    table.add(std::move(cells));
  }
  return table_text(table, 0, style) + more_text(runs.size(), shown.size(), "more run");
}

std::string slower_table(const std::vector<CheckHistory>& checks, const LocalClock& clock, const TextStyle& style) {
  TextTable table{{"SLOWER", "BEFORE", "NOW", "UNIT", "SINCE"}, {}, true};
  std::vector<const CheckHistory*> slower;
  std::vector<std::string> owners;
  for (const CheckHistory& history : checks) {
    if (!is_slower(history)) continue;
    slower.push_back(&history);
    owners.push_back(history.node);
  }
  const auto shown = fair_choice(owners, kMostShownChanges, kMostChangesOfOneNode);
  for (const std::size_t at : shown) {
    const CheckHistory& history = *slower[at];
    const ValueChange& change = *history.change;
    std::string since = local_time_of(history.values[change.at].run, clock);
    if (!change.lasting) since += since.empty() ? "one run" : ", one run";
    table.rows.push_back({{{shown_text(history.id), Colour::kBold},
                           {number_text(change.before), Colour::kNone},
                           {number_text(change.after), Colour::kYellow},
                           {unit_of(history), Colour::kNone},
                           {std::move(since), Colour::kNone}},
                          notes_of(history)});
  }
  return table_text(table, 0, style) + more_text(slower.size(), shown.size(), "more slower check");
}

std::string version_in(const Versions& versions, const std::string& name) {
  const auto found = versions.find(name);
  return found == versions.end() ? "" : found->second;
}

std::string values_table(const CheckHistory& history, const LocalClock& clock, const TextStyle& style) {
  std::set<std::string> names;
  for (const PastValue& value : history.values) {
    if (!value.versions) continue;
    for (const auto& version : *value.versions) {
      if (names.size() < kMostVersionColumns) names.insert(version.first);
    }
  }
  TextTable table{{"TIME", "VALUE"}, {}, true};
  for (const std::string& name : names) table.header.push_back(shown_text(name));
  const std::string unit = unit_of(history);
  for (std::size_t at = 0; at < history.values.size(); ++at) {
    const PastValue& value = history.values[at];
    const bool changes = history.change && history.change->at == at;
    const std::string time = local_time_of(value.run, clock);
    std::vector<TextCell> cells{
        {time.empty() ? "?" : time, Colour::kNone},
        {number_text(value.value) + " " + unit, changes && history.change->worse ? Colour::kYellow : Colour::kNone}};
    for (const std::string& name : names) {
      const std::string version = value.versions ? version_in(*value.versions, name) : "";
      cells.push_back({shown_text(version), Colour::kNone});
    }
    table.rows.push_back({std::move(cells), changes ? notes_of(history) : std::vector<std::string>()});
  }
  return paint(shown_text(history.id) + ", kept on " + printable(history.node), Colour::kBold, style) + "\n" +
         table_text(table, 2, style);
}

std::string summary_of(const MeasuredHistoryReport& report, std::size_t runs, const TextStyle& style) {
  const auto number = [&](bool (*is)(const CheckHistory&)) {
    return std::to_string(std::count_if(report.checks.begin(), report.checks.end(), is));
  };
  const auto read = static_cast<std::size_t>(std::count_if(report.nodes.begin(), report.nodes.end(),
                                                           [](const NodeMeasurements& node) { return !node.error; }));
  return wrapped("History: " + counted(runs, "run") + ", " + counted(report.checks.size(), "check") + ", " +
                     number(is_slower) + " slower, " + number(is_faster) + " faster on " + counted(read, "node"),
                 0, style);
}

Value time_value(const std::string& run) { return run.empty() ? Value() : Value(time_of_run(run)); }

Value value_of(const CheckHistory& history) {
  Value values{Value::List{}};
  for (const PastValue& one : history.values) {
    values.push_back(Value::map(
        {{"run", one.run.empty() ? Value() : Value(one.run)}, {"time", time_value(one.run)}, {"value", one.value}}));
  }
  Value change;
  if (history.change) {
    Value beside{Value::List{}};
    for (const std::string& one : history.change->beside) beside.push_back(one);
    change = Value::map({{"since", time_value(history.values[history.change->at].run)},
                         {"before", history.change->before},
                         {"after", history.change->after},
                         {"lasting", history.change->lasting},
                         {"worse", history.change->worse},
                         {"beside", std::move(beside)}});
  }
  return Value::map({{"id", history.id},
                     {"node", history.node},
                     {"unit", unit_of(history)},
                     {"values", std::move(values)},
                     {"change", std::move(change)}});
}

Value value_of(const PastRun& run) {
  Value nodes{Value::List{}};
  for (const std::string& node : run.nodes) nodes.push_back(node);
  Value figures = Value::map();
  for (const auto& [figure, worst] : run.figures) {
    figures.set(to_string(figure),
                Value::map({{"value", worst.value}, {"unit", unit_of(figure)}, {"check", worst.check}}));
  }
  return Value::map(
      {{"run", run.run}, {"time", time_value(run.run)}, {"nodes", std::move(nodes)}, {"figures", std::move(figures)}});
}

Value value_of(const NodeMeasurements& node) {
  const std::string_view status = node.error ? "failed" : node.applied ? "read" : "never_applied";
  // Each run is here once: with thousands of values, its versions would fill the memory.
  Value runs{Value::List{}};
  for (const MeasuredRun& run : node.measured.runs) {
    if (!is_past_run(run.run)) continue;
    Value versions = Value::map();
    for (const auto& [name, version] : run.versions) versions.set(name, version);
    runs.push_back(Value::map({{"run", run.run}, {"time", time_value(run.run)}, {"versions", std::move(versions)}}));
  }
  Value value = Value::map({{"name", node.node}, {"status", status}, {"runs", std::move(runs)}});
  if (node.error) value.set("error", to_json_value(*node.error));
  return value;
}

}  // namespace

std::string unit_of(const CheckHistory& history) {
  const auto figure = figure_of(history.id);
  return figure ? std::string(unit_of(*figure)) : "";
}

std::vector<std::string> notes_of(const CheckHistory& history) {
  std::vector<std::string> notes;
  const ValueChange& change = *history.change;
  for (const std::string& one : change.beside) notes.push_back("at that time: " + shown_text(one));
  const bool known = !history.values[change.at - 1].run.empty() && !history.values[change.at].run.empty();
  if (notes.empty() && known) notes.emplace_back("no apply and no other version at that time");
  return notes;
}

std::string to_text(const MeasuredHistoryReport& report, const LocalClock& clock, const TextStyle& style) {
  const auto runs = past_runs(report.checks);
  std::string text;
  if (!report.check.empty()) {
    for (const CheckHistory& history : report.checks) text += values_table(history, clock, style);
  } else {
    if (!style.quiet) text += runs_table(runs, clock, style);
    text += slower_table(report.checks, clock, style);
  }
  return text + summary_of(report, runs.size(), style);
}

Value to_json_value(const MeasuredHistoryReport& report) {
  Value nodes{Value::List{}};
  for (const NodeMeasurements& node : report.nodes) nodes.push_back(value_of(node));
  Value runs{Value::List{}};
  for (const PastRun& run : past_runs(report.checks)) runs.push_back(value_of(run));
  Value checks{Value::List{}};
  for (const CheckHistory& history : report.checks) checks.push_back(value_of(history));
  Value all = Value::map({{"format_version", "1.0"}, {"command", "verify"}, {"cluster", report.cluster}});
  // Value::map() copies its parts: 40,000 values of a node would be there twice.
  all.set("nodes", std::move(nodes));
  all.set("runs", std::move(runs));
  all.set("history", std::move(checks));
  return all;
}

}  // namespace sparkplan
