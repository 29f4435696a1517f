#include "engine/cli/commands.h"
#include "engine/cli/interrupts.h"
#include "engine/cli/load_command.h"
#include "engine/cli/progress_display.h"

namespace sparkplan {

int run_plan(const PlanOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_to_run("plan", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  auto run = run_options("plan", cluster, options.selection, global, interrupts.token());
  if (!run) {
    console.error(run.error());
    return 1;
  }
  ProgressDisplay progress(console, cluster);
  run->progress = progress.listener();
  const auto report = ClusterRun(cluster, builtin_registry(), std::move(*run)).plan();
  progress.clear();
  print(report, *input.loaded, options.json, console);
  return exit_code(report, ExitRules{options.detailed_exit_code, false, false});
}

}  // namespace sparkplan
