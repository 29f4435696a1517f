// exec: one command on all selected nodes.
#include <utility>

#include "engine/cli/commands/commands.h"
#include "engine/cli/commands/job_commands.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/terminal/interrupts.h"
#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/fleet/session/run_identity.h"

namespace sparkplan {
namespace {

Result<std::vector<NodeJob>> jobs_of(const std::vector<const NodeSpec*>& nodes, const ExecOptions& options) {
  SPARK_TRY(const auto id, new_run_id());
  std::vector<NodeJob> jobs;
  for (const NodeSpec* node : nodes) {
    StartJob start;
    start.id = id;
    start.ranks.push_back({static_cast<int>(jobs.size()), options.argv, {}});
    start.time_limit_ms = options.time_limit.count();
    start.who = this_controller("exec").who;
    start.command = cut_text(join(options.argv, " "), kLongestJobCommand);
    jobs.push_back({node, std::move(start)});
  }
  return jobs;
}

}  // namespace

Result<ExitCode> run_exec(const ExecOptions& options, const GlobalOptions& global, Console& console) {
  const Interrupts interrupts(console);
  if (options.argv.empty() || options.argv.front().empty()) {
    return failure(ErrorCode::kInvalidInput, "no command is given", "sparkplan exec -- uname -r");
  }
  auto input = load_for("exec", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const Cluster& cluster = *input.loaded->cluster;
  SPARK_TRY(auto run, run_options("exec", cluster, options.selection, global, interrupts.token(), console));
  SPARK_TRY(const auto nodes, job_members(cluster, run.selection));
  SPARK_TRY(const auto jobs, jobs_of(nodes, options));
  SPARK_TRY(auto outputs, JobOutputs::open(options.output_dir, options.json, jobs, console));
  JobRunOptions job_options;
  job_options.command = "exec";
  job_options.agent = run.agent;
  job_options.stop = run.stop;
  auto report = run_job(jobs, outputs.output(), job_options);
  report.argv = options.argv;
  outputs.add_to(report);
  return finish_job(std::move(report), options.json, console);
}

}  // namespace sparkplan
