#include "engine/cli/commands/commands.h"

#include <utility>

#include "engine/cli/commands/sync_command.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/printing.h"
#include "engine/cli/output/report_file.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"

namespace sparkplan {

Result<ExitCode> run_doctor(const DoctorCommandOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  SPARK_CHECK(check_report_path(options.report));
  auto input = load_for("doctor", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  SPARK_TRY(auto run, run_options("doctor", cluster, options.selection, global, interrupts.token(), console));
  ProgressDisplay progress(console, cluster);
  run.progress = progress.listener();
  auto content_run = run;
  content_run.agent.install = InstallPolicy::kNever;
  auto report = diagnose_cluster(cluster, builtin_registry(), std::move(run));
  add_content_of(cluster, content_run, report.run);
  progress.clear();
  print(report, *input.loaded, options.json, console);
  if (!options.report.empty()) {
    const auto whole = with_findings(report, *input.loaded);
    SPARK_CHECK(write_report(options.report, to_html(whole, page_context(*input.loaded))));
  }
  return exit_code(report.run);
}

}  // namespace sparkplan
