#include <fmt/format.h>

#include <algorithm>

#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/fleet/history.h"
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

std::string run_line(const ClusterHistoryEntry& entry) {
  const auto& run = entry.run;
  const auto changes = counted(static_cast<std::size_t>(run.changes), "change");
  std::string text =
      fmt::format("{:<20}  {:<23}  {:<8}  {:<20}  {:<10}  {} on {}", printable(run.time), printable(run.run),
                  printable(run.operation), printable(run.who), outcome_words(run), changes, fold_names(entry.nodes));
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

Value run_value(const ClusterHistoryEntry& entry, bool with_artifacts) {
  const auto& run = entry.run;
  Value::List nodes(entry.nodes.begin(), entry.nodes.end());
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

std::string as_json(const Cluster& cluster, const std::vector<NodeHistory>& histories, bool with_artifacts) {
  Value runs{Value::List{}};
  for (const auto& entry : merged(histories)) runs.push_back(run_value(entry, with_artifacts));
  Value nodes{Value::List{}};
  for (const auto& history : histories) nodes.push_back(node_value(history));
  return public_json(Value::map({{"format_version", "1.0"},
                                 {"command", "history"},
                                 {"cluster", cluster.name},
                                 {"runs", std::move(runs)},
                                 {"nodes", std::move(nodes)}})) +
         "\n";
}

/// Prints an error for each history that is missing or damaged. False if there is one.
bool report_gaps(const std::vector<NodeHistory>& histories, const Console& console) {
  bool whole = true;
  for (const auto& history : histories) {
    if (history.error) console.error(Error(*history.error).within(history.node));
    for (const auto& one : history.reply.damaged) {
      console.error(Error{ErrorCode::kInvalidInput,
                          "the journal " + one.file + " is damaged: " + one.error.describe(),
                          {history.node},
                          std::nullopt,
                          "read it on the node; to discard it, move it out of its directory"});
    }
    if (!history.error && !history.applied) console.remark(history.node + " was never applied.");
    whole = whole && !history.error && history.reply.damaged.empty();
  }
  return whole;
}

}  // namespace

Result<ExitCode> run_history(const HistoryOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_for("history", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  SelectionOptions selection;
  if (!options.node.empty()) selection.only.push_back(options.node);
  SPARK_TRY(auto with, run_options("history", cluster, selection, global, interrupts.token(), console));
  const bool with_artifacts = !options.node.empty();
  ProgressDisplay progress(console, cluster);
  with.progress = progress.listener();
  const auto histories = read_histories(cluster, with, with_artifacts);
  progress.clear();
  const ExitCode code = report_gaps(histories, console) ? ExitCode::kDone : ExitCode::kNodeFailed;
  if (options.json) {
    console.result(as_json(cluster, histories, with_artifacts));
    return code;
  }
  std::string text;
  for (const auto& entry : merged(histories)) {
    text += run_line(entry);
    if (with_artifacts) text += artifact_lines(entry.run);
  }
  console.result(text);
  return code;
}

}  // namespace sparkplan
