#include "engine/cli/commands/changing_run.h"

#include <syslog.h>

#include <algorithm>
#include <utility>

#include "engine/cli/commands/sync_command.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/output/printing.h"
#include "engine/cli/output/run_log.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/text.h"
#include "engine/fleet/session/run_identity.h"
#include "engine/plan/report.h"
#include "engine/report/exit_code.h"

namespace sparkplan {
namespace {

/// Writes one line to the controller's syslog: the user, the cluster and the outcome. The nodes write their own lines.
void write_audit_line(const Report& report) {
  int done = 0;
  for (const auto& node : report.nodes) {
    for (const auto& [id, outcome] : node.outcomes) done += outcome == Outcome::kDone ? 1 : 0;
  }
  const auto by = printable(this_controller(report.command).who);
  const auto cluster = printable(report.cluster);
  ::openlog("sparkplan", LOG_PID, LOG_USER);
  ::syslog(LOG_NOTICE, "%s cluster=%s by=%s nodes=%zu changes_done=%d exit=%d", report.command.c_str(), cluster.c_str(),
           by.c_str(), report.nodes.size(), done, static_cast<int>(exit_code(report)));
  ::closelog();
}

/// The report without the findings that were shown with the question.
Report without(const std::vector<Diagnostic>& shown, Report report) {
  std::erase_if(report.diagnostics,
                [&](const Diagnostic& one) { return std::find(shown.begin(), shown.end(), one) != shown.end(); });
  return report;
}

/// For `history`, which otherwise loses the runs of nodes that leave, and for `rollback`, which it can only stop. No
/// exit code depends on it.
void write_record(const Report& report, const Console& console) {
  const auto record = record_of(report, this_controller(report.command).who, static_cast<int>(exit_code(report)));
  if (!record) return;
  if (const auto written = append_to_run_log(run_log_folder(), *record); !written)
    console.trace("the run is not in this controller's log: " + written.error().describe());
}

}  // namespace

Result<void> can_ask(const ChangingRun& run, const Console& console) {
  if (run.yes || console.interactive()) return {};
  return failure(ErrorCode::kInvalidInput, run.command + " asks before it changes anything, but there is no terminal",
                 "pass --yes");
}

Result<ApplyOptions> apply_options(const SafetyOptions& safety) {
  const auto window = safety.confirm_timeout;
  if (!safety.no_safety_net && (window < std::chrono::seconds(5) || window > std::chrono::minutes(30))) {
    return failure(ErrorCode::kInvalidInput, "--confirm-timeout takes 5s to 30m",
                   "choose a time in which sparkplan can reconnect: a shorter one rolls back every change");
  }
  ApplyOptions apply;
  apply.allow_management_change = safety.allow_management_change;
  apply.ignore_jobs = safety.ignore_jobs;
  apply.max_parallel = safety.max_parallel;
  apply.window = std::chrono::duration_cast<std::chrono::seconds>(window);
  if (safety.no_safety_net) apply.window = std::chrono::seconds(0);
  return apply;
}

Result<std::optional<Report>> carry_out(const ChangingRun& run, ApplyOptions options, const LoadedCluster& loaded,
                                        const GlobalOptions& global, const Interrupts& interrupts, Console& console) {
  const auto& cluster = *loaded.cluster;
  const NodeSpec* released = options.released_entry ? &*options.released_entry : nullptr;
  SPARK_TRY(auto with,
            run_options(run.command, cluster, run.selection, global, interrupts.token(), console, nullptr, released));
  with.agent.install = InstallPolicy::kExactBuild;
  with.secrets = run.secrets;
  with.exclusion = run.exclusion;
  const AgentOptions login = with.agent;
  ProgressDisplay progress(console, cluster);
  with.progress = progress.listener();
  const auto content_run = with;
  bool declined = false;
  std::vector<Diagnostic> findings_shown;
  options.approve = [&](const Report& plan) {
    progress.clear();
    if (run.yes) return true;
    Report shown = plan;
    shown.command = "plan";
    console.diagnostics(shown.diagnostics, loaded.source);
    findings_shown = shown.diagnostics;
    console.question(to_text(shown, console.question_style()));
    declined = !console.confirm(run.question, interrupts.token());
    return !declined;
  };
  auto report = ApplyRun(cluster, builtin_registry(), std::move(with), options).run();
  progress.clear();
  if (declined) {
    console.remark("Nothing was changed.");
    return std::optional<Report>();
  }
  if (run.check) SPARK_CHECK(run.check(report));
  write_audit_line(report);
  write_record(report, console);
  if (!run.json) print(without(findings_shown, report), loaded, false, console);
  const auto deeper = run.verify_after ? run.verify_after(report, login) : std::nullopt;
  if (run.reports_content) {
    const auto printed = report.diagnostics;
    // Last, because a node may take its time.
    add_content_of(cluster, content_run, report);
    progress.clear();
    if (!run.json) console.diagnostics(without(printed, report).diagnostics, loaded.source);
  }
  if (run.json) print(report, loaded, true, console, deeper);
  return std::optional(std::move(report));
}

}  // namespace sparkplan
