#include <syslog.h>

#include <condition_variable>
#include <ctime>
#include <fstream>
#include <iterator>
#include <mutex>
#include <random>

#include "engine/cli/commands.h"
#include "engine/cli/drift_outputs.h"
#include "engine/cli/interrupts.h"
#include "engine/cli/load_command.h"
#include "engine/cli/progress_display.h"

namespace sparkplan {
namespace {

/// So that a hundred crontabs with the same line do not knock at the same second.
void wait_splay(std::chrono::milliseconds splay, const std::stop_token& stop) {
  if (splay.count() == 0) return;
  std::random_device seed;
  const auto chosen = std::chrono::milliseconds(std::uniform_int_distribution<std::int64_t>(0, splay.count())(seed));
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any stopped;
  stopped.wait_for(lock, stop, chosen, [&] { return stop.stop_requested(); });
}

void write_syslog(const Report& report) {
  ::openlog("sparkplan-drift", LOG_PID, LOG_DAEMON);
  for (const auto& line : drift_log_lines(report)) ::syslog(LOG_WARNING, "%s", line.c_str());
  ::closelog();
}

Result<void> write_textfile(const std::string& path, const Report& report) {
  std::ifstream before(path, std::ios::binary);
  auto last_success = last_success_in({std::istreambuf_iterator<char>(before), {}});
  if (exit_code(report, ExitRules{}) == 0) last_success = std::time(nullptr);
  return replace_textfile(path, drift_metrics(report, last_success));
}

}  // namespace

int run_drift(const DriftOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  wait_splay(options.splay, interrupts.token());
  auto input = load_to_run("drift", options.file, options.json, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  auto run = run_options("drift", cluster, options.selection, global, interrupts.token());
  if (!run) {
    console.error(run.error());
    return 1;
  }
  run->agent.install = InstallPolicy::kNever;
  ProgressDisplay progress(console, cluster);
  run->progress = progress.listener();
  const auto report = ClusterRun(cluster, builtin_registry(), std::move(*run)).plan();
  progress.clear();
  const int code = exit_code(report, ExitRules{false, true, options.pending});
  // Cron mails whatever is printed: with --quiet a cluster without findings prints nothing.
  if (options.json || !global.quiet || code != 0) print(report, *input.loaded, options.json, console);
  if (options.syslog) write_syslog(report);
  if (!options.textfile.empty()) {
    if (auto written = write_textfile(options.textfile, report); !written) {
      console.error(written.error());
      return 1;
    }
  }
  return code;
}

}  // namespace sparkplan
