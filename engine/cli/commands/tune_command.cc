#include <filesystem>
#include <system_error>
#include <utility>

#include "engine/cli/commands/commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/printing.h"
#include "engine/cli/output/report_file.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/text.h"
#include "engine/core/units.h"
#include "engine/report/tune_report.h"
#include "engine/tune/tune_run.h"

namespace sparkplan {
namespace {

/// Errors: kInvalidInput for the cluster's own file: a fragment would take its place.
Result<void> check_output(const std::string& output, const std::string& file) {
  SPARK_CHECK(check_report_path(output));
  std::error_code ignored;
  if (output.empty() || !std::filesystem::equivalent(output, file, ignored)) return {};
  return failure(ErrorCode::kInvalidInput, "-o names " + printable(file) + ", which describes the cluster",
                 "name another file: the fragment would replace it");
}

}  // namespace

Result<ExitCode> run_tune(const TuneCommandOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  TuneOptions tune;
  tune.budget = options.budget;
  tune.force = options.force;
  if (tune.budget < kShortestTuneBudget) {
    console.error(make_error(ErrorCode::kInvalidInput,
                             "the budget of " + format_duration(tune.budget) + " has no time for one pair of runs",
                             "give " + format_duration(kShortestTuneBudget) + " or more, better 20m: --budget"));
    return ExitCode::kInvalidFile;
  }
  // Before the measurements, which take minutes.
  SPARK_CHECK(check_output(options.output, cluster_file(options.file)));
  SPARK_CHECK(check_report_path(options.report));
  auto input = load_for("tune", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  SPARK_TRY(auto run, run_options("tune", cluster, options.selection, global, interrupts.token(), console));
  ProgressDisplay progress(console, cluster);
  run.progress = progress.listener();
  const auto report = tune_cluster(cluster, builtin_registry(), std::move(run), tune);
  progress.clear();
  print(report, *input.loaded, options.json, console);
  if (!options.output.empty()) SPARK_CHECK(write_report(options.output, yaml_fragment(report)));
  if (!options.report.empty()) {
    const auto whole = with_findings(report, *input.loaded);
    SPARK_CHECK(write_report(options.report, to_html(whole, page_context(*input.loaded))));
  }
  return exit_code(report.run);
}

}  // namespace sparkplan
