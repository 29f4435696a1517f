#include "engine/cli/doctor_command.h"

#include <utility>

#include "engine/cli/load_command.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/json.h"
#include "engine/verify/doctor_run.h"

namespace sparkplan {

int run_doctor(const DoctorCommandOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  auto input = load_for("doctor", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  auto run = run_options("doctor", cluster, {}, global, interrupts.token());
  if (!run) {
    console.error(run.error());
    return 1;
  }
  ProgressDisplay progress(console, cluster);
  run->progress = progress.listener();
  auto report = diagnose_cluster(cluster, builtin_registry(), std::move(*run));
  progress.clear();
  console.diagnostics(report.run.diagnostics, input.loaded->source);
  const int code = exit_code(report.run, ExitRules{});
  if (options.json) {
    auto& findings = report.run.diagnostics;
    findings.insert(findings.begin(), input.loaded->diagnostics.begin(), input.loaded->diagnostics.end());
    console.result(public_json(to_json_value(report)) + "\n");
  } else {
    console.result(to_text(report, console.style()));
  }
  return code;
}

}  // namespace sparkplan
