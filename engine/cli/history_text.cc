#include "engine/cli/history_text.h"

#include <fmt/format.h>

#include <utility>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/report/text_style.h"

namespace sparkplan {
namespace {

std::string outcome_words(const JournaledRun& run) {
  switch (run.outcome) {
    case RunOutcome::kApplied:
      return "applied";
    case RunOutcome::kFailed:
      return "failed";
    case RunOutcome::kRolledBack:
      return "rolled back";
    case RunOutcome::kBrokenOff:
      return "broken off";
  }
  return "";
}

std::string nodes_text(const ClusterHistoryEntry& entry) {
  std::string text;
  if (!entry.nodes.empty()) text += " on " + fold_names(entry.nodes);
  if (!entry.recorded_nodes.empty()) text += ", as recorded here on " + fold_names(entry.recorded_nodes);
  if (!entry.left_nodes.empty()) text += ", as recorded here on " + fold_names(entry.left_nodes) + ", which left";
  return text;
}

std::string run_line(const ClusterHistoryEntry& entry, const LocalClock& clock) {
  const auto& run = entry.run;
  const auto changes = counted(static_cast<std::size_t>(run.changes), "change");
  std::string text =
      fmt::format("{:<12}  {:<25}  {:<8}  {:<20}  {:<11}  {}{}", local_time_text(run.time, clock), printable(run.run),
                  printable(run.operation), printable(run.who), outcome_words(run), changes, nodes_text(entry));
  if (!run.purpose.undoes.empty()) text += ", undoes " + printable(run.purpose.undoes);
  if (!run.undone_by.empty()) text += ", undone by " + printable(run.undone_by);
  if (!run.purpose.saved_plan.empty()) text += ", of plan " + printable(run.purpose.saved_plan);
  if (entry.reported_by_few())
    text += fmt::format(", reported by only {} of {} nodes", entry.nodes.size(), entry.could_report);
  return text + "\n";
}

std::string artifact_lines(const JournaledRun& run) {
  std::string text;
  for (const auto& one : run.artifacts) {
    text +=
        fmt::format("  {:<8}  {:<14}  {}", printable(one.outcome), printable(one.type), printable(one.artifact.name));
    if (!one.error.empty()) text += ": " + printable(one.error);
    text += "\n";
  }
  return run.more_artifacts ? text + "  and more\n" : text;
}

Value list_of(const std::vector<std::string>& names) { return Value(Value::List(names.begin(), names.end())); }

Value run_value(const ClusterHistoryEntry& entry, bool with_artifacts) {
  const auto& run = entry.run;
  Value::List nodes(entry.nodes.begin(), entry.nodes.end());
  nodes.insert(nodes.end(), entry.recorded_nodes.begin(), entry.recorded_nodes.end());
  nodes.insert(nodes.end(), entry.left_nodes.begin(), entry.left_nodes.end());
  Value value = Value::map({{"run", run.run},
                            {"time", run.time},
                            {"who", run.who},
                            {"operation", run.operation},
                            {"outcome", to_string(run.outcome)},
                            {"changes", run.changes},
                            {"nodes", Value(std::move(nodes))}});
  if (!run.purpose.saved_plan.empty()) value.set("saved_plan", run.purpose.saved_plan);
  if (!run.purpose.undoes.empty()) value.set("undoes", run.purpose.undoes);
  if (!run.undone_by.empty()) value.set("undone_by", run.undone_by);
  if (!entry.recorded_nodes.empty()) value.set("recorded_nodes", list_of(entry.recorded_nodes));
  if (!entry.left_nodes.empty()) value.set("left_nodes", list_of(entry.left_nodes));
  if (entry.reported_by_few()) value.set("reported_by_few", true);
  if (!with_artifacts) return value;
  Value artifacts{Value::List{}};
  for (const auto& one : run.artifacts) {
    Value artifact = Value::map({{"type", one.type}, {"artifact", one.artifact.str()}, {"outcome", one.outcome}});
    if (!one.error.empty()) artifact.set("error", one.error);
    artifacts.push_back(std::move(artifact));
  }
  value.set("artifacts", std::move(artifacts));
  return value;
}

std::string status_of(const NodeHistory& history) {
  if (history.error) return history.error->code == ErrorCode::kUnreachable ? "unreachable" : "failed";
  if (!history.reply.damaged.empty()) return "damaged";
  return history.applied ? "read" : "never_applied";
}

Value node_value(const NodeHistory& history) {
  Value damaged{Value::List{}};
  for (const auto& one : history.reply.damaged) {
    damaged.push_back(Value::map({{"file", one.file}, {"message", one.error.describe()}}));
  }
  Value value = Value::map({{"name", history.node}, {"status", status_of(history)}, {"damaged", std::move(damaged)}});
  if (history.error) value.set("message", history.error->describe());
  return value;
}

}  // namespace

std::string history_text(const std::vector<ClusterHistoryEntry>& entries, bool with_artifacts,
                         const LocalClock& clock) {
  std::string text;
  for (const auto& entry : entries) {
    text += run_line(entry, clock);
    if (with_artifacts) text += artifact_lines(entry.run);
  }
  return text;
}

std::string history_json(const std::string& cluster, const std::vector<ClusterHistoryEntry>& entries,
                         const std::vector<NodeHistory>& histories, bool with_artifacts) {
  Value runs{Value::List{}};
  for (const auto& entry : entries) runs.push_back(run_value(entry, with_artifacts));
  Value nodes{Value::List{}};
  for (const auto& history : histories) nodes.push_back(node_value(history));
  return public_json(Value::map({{"format_version", "1.0"},
                                 {"command", "history"},
                                 {"cluster", cluster},
                                 {"runs", std::move(runs)},
                                 {"nodes", std::move(nodes)}})) +
         "\n";
}

}  // namespace sparkplan
