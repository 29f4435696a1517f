#include <algorithm>
#include <utility>

#include "engine/cli/changing_run.h"
#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"

namespace sparkplan {
namespace {

std::optional<Error> unknown_node(const std::vector<std::string>& names, const Cluster& cluster) {
  for (const auto& name : names) {
    const bool known = std::any_of(cluster.nodes.begin(), cluster.nodes.end(),
                                   [&](const NodeSpec& node) { return node.name.str() == name; });
    if (known) continue;
    return Error{ErrorCode::kInvalidInput,
                 "there is no node " + name + " in " + cluster.file,
                 {},
                 std::nullopt,
                 "`sparkplan status` lists them"};
  }
  return std::nullopt;
}

}  // namespace

int run_rollback(const RollbackOptions& options, const GlobalOptions& global, Console& console) {
  const ChangingRun run{"rollback", "Roll this back?", options.yes, false, {}, {}};
  if (!can_ask(run, console)) return 1;
  const Interrupts interrupts(console);
  const auto input = load_to_run("rollback", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  if (const auto unknown = unknown_node(options.nodes, *input.loaded->cluster)) {
    console.error(*unknown);
    return 1;
  }
  ApplyOptions apply;
  if (!take_safety(options.safety, apply, console)) return 1;
  apply.rollback = options.nodes;
  apply.lock_timeout = options.lock_timeout;
  apply.allow_prune = true;  // Undoing a first run takes everything away, as asked.
  const auto report = carry_out(run, std::move(apply), *input.loaded, global, interrupts, console);
  if (!report) return 1;
  const bool nothing = std::all_of(report->nodes.begin(), report->nodes.end(),
                                   [](const NodeReport& node) { return node.status == NodeStatus::kSkipped; });
  if (nothing) console.remark("There is no run left to roll back: `sparkplan history` lists them.");
  return exit_code(*report, ExitRules{});
}

}  // namespace sparkplan
