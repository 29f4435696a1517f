#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/sync_command.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/input/saved_plan_file.h"
#include "engine/cli/input/secret_values.h"
#include "engine/cli/output/printing.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/text.h"
#include "engine/fleet/planning/plan_run.h"

namespace sparkplan {
namespace {

Result<void> save(SavedPlan plan, const PlanOptions& options, const LoadedCluster& loaded, const Console& console) {
  if (plan.report.interrupted) {
    return failure(ErrorCode::kInterrupted, "an interrupted plan is not saved");
  }
  plan.sparkplan_version = SPARKPLAN_VERSION;
  plan.source = loaded.source;
  plan.beside = loaded.beside;
  plan.only = options.selection.only;
  plan.exclude = options.selection.exclude;
  auto& diagnostics = plan.report.diagnostics;
  diagnostics.insert(diagnostics.begin(), loaded.diagnostics.begin(), loaded.diagnostics.end());
  SPARK_CHECK(write_saved_plan(options.output, plan));
  const auto shown = printable(options.output);
  console.remark("Saved as " + shown + ". To apply exactly this plan: sparkplan apply " + shown);
  return {};
}

}  // namespace

Result<ExitCode> run_plan(const PlanOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_to_run("plan", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  SPARK_TRY(auto run, run_options("plan", cluster, options.selection, global, interrupts.token(), console));
  if (!options.output.empty()) SPARK_CHECK(check_plan_destination(options.output));
  run.contact_departing = options.yes_prune;
  const auto secrets =
      read_secrets({"plan", options.selection, options.json, false}, *input.loaded, interrupts.token(), console);
  if (secrets.exit_code) return *secrets.exit_code;
  run.secrets = secrets.secrets;
  ProgressDisplay progress(console, cluster);
  run.progress = progress.listener();
  auto content_run = run;
  FleetSession session(cluster, builtin_registry(), std::move(run), {.plans = true});
  PlanRun planning(session, false, Foresight::kAsked);
  planning.plan();
  auto report = planning.report();
  add_content_of(cluster, std::move(content_run), report);
  progress.clear();
  print(report, *input.loaded, options.json, console);
  if (!options.output.empty()) {
    SPARK_TRY(auto plan, planning.save(report));
    SPARK_CHECK(save(std::move(plan), options, *input.loaded, console));
  }
  return exit_code(report, ExitRules{options.detailed_exit_code, false, false});
}

}  // namespace sparkplan
