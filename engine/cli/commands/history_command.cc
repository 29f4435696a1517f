#include <fmt/format.h>

#include <algorithm>

#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/history_text.h"
#include "engine/cli/output/run_log.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/text.h"
#include "engine/fleet/history/history.h"
#include "engine/fleet/history/run_record.h"

namespace sparkplan {
namespace {

/// Prints an error for each history that is missing or damaged. False if there is one.
bool report_gaps(const std::vector<NodeHistory>& histories, const Console& console) {
  bool whole = true;
  std::vector<NodeTrouble> errors;
  for (const auto& history : histories) {
    if (history.error) errors.push_back(trouble_of(history.node, history.address, *history.error));
  }
  console.errors(errors);
  std::vector<std::string> untouched;
  for (const auto& history : histories) {
    for (const Error& gap : gaps_in(history)) console.error(gap);
    if (!history.error && !history.applied) untouched.push_back(history.node);
    whole = whole && !history.error && history.reply.damaged.empty();
  }
  if (!untouched.empty()) {
    console.remark(fold_names(untouched) + (untouched.size() == 1 ? " has" : " have") +
                   " no journal: never applied, or released.");
  }
  return whole;
}

/// The controller's own log. A log that cannot be read is no fault of the nodes.
std::vector<RecordedRun> read_records(const Console& console) {
  auto records = read_run_log(run_log_folder());
  if (records) return *std::move(records);
  console.trace("the log of runs is not read: " + records.error().describe());
  return {};
}

HistoryScope scope_of(const Cluster& cluster, const Selection& asked) {
  HistoryScope scope;
  scope.cluster = cluster.name;
  for (const auto& node : cluster.nodes) scope.nodes.push_back(node.name.str());
  scope.includes = [&asked](const std::string& node) { return asked.includes_node(node); };
  return scope;
}

/// True for a node that has left: only the log has its runs, and there is no node to ask.
bool is_only_recorded(const HistoryScope& scope, const std::vector<RecordedRun>& records) {
  return std::none_of(scope.nodes.begin(), scope.nodes.end(), scope.includes) &&
         std::any_of(records.begin(), records.end(), [&](const RecordedRun& run) { return is_in(scope, run); });
}

Result<std::vector<NodeHistory>> ask_nodes(const Cluster& cluster, const SelectionOptions& selection,
                                           bool with_artifacts, const GlobalOptions& global,
                                           const Interrupts& interrupts, Console& console) {
  SPARK_TRY(auto with, run_options("history", cluster, selection, global, interrupts.token(), console));
  ProgressDisplay progress(console, cluster);
  with.progress = progress.listener();
  auto histories = read_histories(cluster, with, with_artifacts);
  progress.clear();
  return histories;
}

}  // namespace

Result<ExitCode> run_history(const HistoryOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_for("history", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  SelectionOptions selection;
  if (!options.node.empty()) selection.only.push_back(options.node);
  const bool with_artifacts = !options.node.empty();
  const Selection asked(selection.only, selection.exclude);
  const auto records = read_records(console);
  HistoryScope scope = scope_of(cluster, asked);
  std::vector<NodeHistory> histories;
  if (!is_only_recorded(scope, records)) {
    SPARK_TRY(histories, ask_nodes(cluster, selection, with_artifacts, global, interrupts, console));
  }
  for (const auto& history : histories) {
    if (!history.cluster_id.empty()) scope.cluster_ids.push_back(history.cluster_id);
  }
  const ExitCode code = report_gaps(histories, console) ? ExitCode::kDone : ExitCode::kNodeFailed;
  const auto entries = with_records(merged(histories, runs_of(records, scope)), records, scope);
  if (options.json) {
    console.result_json(history_json(cluster.name, entries, histories, with_artifacts));
    return code;
  }
  // Run by run: nodes choose the names of artifacts, and the text of all runs can have a hundred megabytes.
  for (const auto& entry : entries) {
    console.result(history_text({entry}, with_artifacts, local_clock(), console.style()));
  }
  return code;
}

}  // namespace sparkplan
