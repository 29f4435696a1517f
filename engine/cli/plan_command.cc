#include "engine/cli/commands.h"
#include "engine/cli/load_command.h"
#include "engine/cli/saved_plan_file.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

/// False, told on standard error, when it could not be saved.
bool save(SavedPlan plan, const PlanOptions& options, const LoadedCluster& loaded, const Console& console) {
  if (plan.report.interrupted) {
    console.error(Error{ErrorCode::kInterrupted, "a plan that was stopped half-way is not saved", {}, {}, ""});
    return false;
  }
  plan.sparkplan_version = SPARKPLAN_VERSION;
  plan.source = loaded.source;
  plan.beside = loaded.beside;
  plan.only = options.selection.only;
  plan.exclude = options.selection.exclude;
  auto& said = plan.report.diagnostics;
  said.insert(said.begin(), loaded.diagnostics.begin(), loaded.diagnostics.end());
  if (const auto written = write_saved_plan(options.output, plan); !written) {
    console.error(written.error());
    return false;
  }
  const auto shown = printable(options.output);
  console.remark("Saved as " + shown + ". To carry out exactly this: sparkplan apply " + shown);
  return true;
}

}  // namespace

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
  if (const auto fits = options.output.empty() ? Result<void>() : check_plan_destination(options.output); !fits) {
    console.error(fits.error());
    return 1;
  }
  run->contact_departing = options.yes_prune;
  ProgressDisplay progress(console, cluster);
  run->progress = progress.listener();
  ClusterRun planning(cluster, builtin_registry(), std::move(*run));
  const auto report = planning.plan();
  progress.clear();
  print(report, *input.loaded, options.json, console);
  if (!options.output.empty() && !save(planning.save(report), options, *input.loaded, console)) return 1;
  return exit_code(report, ExitRules{options.detailed_exit_code, false, false});
}

}  // namespace sparkplan
