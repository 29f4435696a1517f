#include <algorithm>
#include <utility>

#include "engine/cli/commands/changing_run.h"
#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
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

}  // namespace

Result<ExitCode> run_rollback(const RollbackOptions& options, const GlobalOptions& global, Console& console) {
  const ChangingRun run{"rollback", "Roll this back?", options.yes, false, {}, {}};
  SPARK_CHECK(can_ask(run, console));
  const Interrupts interrupts(console);
  const auto input = load_to_run("rollback", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  SPARK_CHECK(check_nodes(options.nodes, *input.loaded->cluster));
  SPARK_TRY(ApplyOptions apply, apply_options(options.safety));
  apply.rollback = options.nodes;
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
