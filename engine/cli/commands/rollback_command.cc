#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/cli/commands/changing_run.h"
#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/run_log.h"
#include "engine/fleet/history/run_record.h"
#include "engine/fleet/session/selection.h"

namespace sparkplan {
namespace {

Result<void> check_nodes(const std::vector<std::string>& names, const Cluster& cluster) {
  for (const auto& name : names) {
    const bool known = std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                                   [&](const NodeSpec& node) { return node.name.str() == name; });
    if (!known) return failure(no_such_node(name, cluster));
  }
  return {};
}

/// A log that cannot be read is no reason to refuse: then the nodes alone decide.
std::vector<RecordedRun> recorded_runs(const Console& console) {
  auto records = read_run_log(run_log_folder());
  if (records) return *std::move(records);
  console.trace("the log of runs is not read: " + records.error().describe());
  return {};
}

}  // namespace

Result<ExitCode> run_rollback(const RollbackOptions& options, const GlobalOptions& global, Console& console) {
  const ChangingRun run{"rollback", "Roll this back?", options.yes, false};
  SPARK_CHECK(can_ask(run, console));
  const Interrupts interrupts(console);
  const auto input = load_to_run("rollback", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  SPARK_CHECK(check_nodes(options.nodes, *input.loaded->cluster));
  SPARK_TRY(ApplyOptions apply, apply_options(options.safety));
  apply.rollback = options.nodes;
  apply.log = recorded_runs(console);
  apply.lock_timeout = options.lock_timeout;
  apply.allow_prune = true;  // Rolling back a first run removes everything, as the user asked.
  SPARK_TRY(const auto report, carry_out(run, std::move(apply), *input.loaded, global, interrupts, console));
  if (!report) return ExitCode::kUsage;
  const bool nothing = std::all_of(report->nodes.begin(), report->nodes.end(),
                                   [](const NodeReport& node) { return node.status == NodeStatus::kSkipped; });
  if (nothing) console.remark("No run is left to roll back. `sparkplan history` lists past runs.");
  return exit_code(*report);
}

}  // namespace sparkplan
