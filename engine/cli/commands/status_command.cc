// status: the state of all nodes.
#include <utility>

#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/sync_command.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/fleet/planning/status_run.h"
#include "engine/report/nodes/status_report.h"

namespace sparkplan {

Result<ExitCode> run_status(const StatusOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_to_run("status", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  SPARK_TRY(auto run, run_options("status", *input.loaded->cluster, {}, global, interrupts.token(), console));
  ProgressDisplay progress(console, *input.loaded->cluster);
  run.progress = progress.listener();
  auto content_run = run;
  content_run.agent.install = InstallPolicy::kNever;
  auto report = cluster_status(*input.loaded->cluster, builtin_registry(), std::move(run));
  add_content_of(*input.loaded->cluster, content_run, report.run);
  progress.clear();
  console.diagnostics(report.run.diagnostics, input.loaded->source);
  if (options.json) {
    console.result_json(to_json_value(report));
  } else {
    console.result(to_text(report, local_clock(), console.style()));
  }
  return exit_code(report.run);
}

}  // namespace sparkplan
