#include "engine/cli/audit.h"
#include "engine/cli/commands.h"
#include "engine/cli/interrupts.h"
#include "engine/cli/load_command.h"
#include "engine/cli/progress_display.h"

namespace sparkplan {
int run_apply(const ApplyCommandOptions& options, const GlobalOptions& global, Console& console) {
  if (!options.yes && !console.interactive()) {
    console.error(Error{ErrorCode::kInvalidInput,
                        "apply asks before it changes anything, and there is no terminal",
                        {},
                        std::nullopt,
                        "give --yes"});
    return 1;
  }
  const Interrupts interrupts(console);
  auto input = load_to_run("apply", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  auto run = run_options("apply", cluster, options.selection, global, interrupts.token());
  if (!run) {
    console.error(run.error());
    return 1;
  }
  run->agent.install = InstallPolicy::kExactBuild;
  ProgressDisplay progress(console, cluster);
  run->progress = progress.listener();
  bool declined = false;
  ApplyOptions apply{options.yes_prune, {}, {}, options.all_or_nothing, options.lock_timeout, {}};
  apply.approve = [&](const Report& plan) {
    progress.clear();
    if (options.yes) return true;
    show_for_approval(plan, *input.loaded, console);
    declined = !console.confirm("Apply these changes?", interrupts.token());
    return !declined;
  };
  const auto report = ClusterRun(cluster, builtin_registry(), std::move(*run)).apply(apply);
  progress.clear();
  if (declined) {
    console.remark("Nothing was changed.");
    return 1;
  }
  print(report, *input.loaded, options.json, console);
  write_audit_line(report);
  return exit_code(report, ExitRules{});
}

}  // namespace sparkplan
