#include <sys/random.h>
#include <syslog.h>
#include <unistd.h>

#include <cstdint>
#include <ctime>
#include <optional>

#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/sync_command.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/drift_outputs.h"
#include "engine/cli/output/printing.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/cli/terminal/screen.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/fleet/session/fleet_session.h"

namespace sparkplan {
namespace {

/// Delays the run, so that a hundred crontabs with the same line do not connect in the same second. False: stopped
/// meanwhile.
bool wait_splay(std::chrono::milliseconds splay, const std::stop_token& stop, const Console& console) {
  if (splay.count() == 0) return true;
  // Not std::random_device: of a linked-in C++ library it needs arc4random(), which older C libraries lack.
  std::uint64_t number = 0;
  if (::getrandom(&number, sizeof number, 0) != sizeof number) number = static_cast<std::uint64_t>(::getpid());
  const auto chosen = std::chrono::milliseconds(number % (static_cast<std::uint64_t>(splay.count()) + 1));
  const Screen::Hold no_step_runs(console.screen());
  console.trace("starting in " + std::to_string(chosen.count()) + " ms");
  return pause_unless_stopped(chosen, stop);
}

struct FinishedDrift {
  const Report& report;
  std::int64_t began;  ///< In seconds since 1970, before the first node was read.
};

Result<void> write_textfile(const std::string& path, const FinishedDrift& run) {
  return replace_textfile(path, [&]() -> std::optional<std::string> {
    const MetricTimes written = times_at(path);
    const std::int64_t now = std::time(nullptr);
    if (is_outdated(run.began, written, now)) return std::nullopt;
    const bool all_read = exit_code(run.report) == ExitCode::kDone;
    return drift_metrics(run.report, {run.began, all_read ? now : written.last_success});
  });
}

/// Writes the log and the metrics. False, after an error message, if one of them could not be written.
bool write_outputs(const DriftOptions& options, const FinishedDrift& run, const Cluster& cluster,
                   const Console& console) {
  bool written = true;
  const auto check = [&](const Result<void>& result) {
    if (result) return;
    console.error(result.error());
    written = false;
  };
  if (options.syslog) check(send_to_syslog(_PATH_LOG, drift_messages(run.report, cluster)));
  if (!options.textfile.empty()) check(write_textfile(options.textfile, run));
  return written;
}

/// An invalid file is also a finding. No node was read, so the metrics stay as they are and their age shows.
bool log_findings(const DriftOptions& options, std::vector<Diagnostic> findings, const Console& console) {
  Report report;
  report.diagnostics = std::move(findings);
  DriftOptions log_only = options;
  log_only.textfile.clear();
  return write_outputs(log_only, {report, 0}, Cluster(), console);
}

}  // namespace

Result<ExitCode> run_drift(const DriftOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  if (!wait_splay(options.splay, interrupts.token(), console)) {
    console.error(make_error(ErrorCode::kInterrupted, "stopped before any node was contacted"));
    return ExitCode::kNodeFailed;
  }
  auto input = load_to_run("drift", options.file, options.json, console);
  if (!input.loaded)
    return log_findings(options, std::move(input.findings), console) ? input.exit_code : ExitCode::kUsage;
  const auto& cluster = *input.loaded->cluster;
  SPARK_TRY(auto run, run_options("drift", cluster, options.selection, global, interrupts.token(), console));
  run.agent.install = InstallPolicy::kNever;
  ProgressDisplay progress(console, cluster);
  run.progress = progress.listener();
  const auto content_run = run;
  const std::int64_t began = std::time(nullptr);
  auto report = plan_cluster(cluster, builtin_registry(), std::move(run));
  add_content_of(cluster, content_run, report);
  progress.clear();
  const ExitCode code = exit_code(report, ExitRules{false, true, options.pending});
  // Cron mails all output: with --quiet, a cluster without findings prints nothing.
  if (options.json || !global.quiet || code != ExitCode::kDone) print(report, *input.loaded, options.json, console);
  // Nodes that a stopped run did not reach are no findings.
  if (report.interrupted) return code;
  return write_outputs(options, {report, began}, cluster, console) ? code : ExitCode::kUsage;
}

}  // namespace sparkplan
