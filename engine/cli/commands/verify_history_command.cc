// verify --history: what was measured before.
#include "engine/cli/commands/verify_command.h"
#include "engine/cli/input/load_command.h"
#include "engine/cli/terminal/progress_display.h"
#include "engine/core/text.h"
#include "engine/report/checks/measured_history_report.h"

namespace sparkplan {
namespace {

/// Errors: kInvalidInput for a flag that only a measurement takes.
Result<void> check_flags(const VerifyCommandOptions& options) {
  if (options.has_nccl_flags()) {
    return failure(
        ErrorCode::kInvalidInput,
        "--history measures nothing: it takes no --sizes, --collectives, --ranks-per-node, --library or --image");
  }
  if (options.level.empty() && options.junit.empty() && options.report.empty() && !options.force) return {};
  return failure(ErrorCode::kInvalidInput,
                 "--history measures nothing: it takes no --level, --force, --junit or --report");
}

/// Errors: kInvalidInput if no node keeps the check, with the nearest id.
Result<void> check_is_kept(const MeasuredHistoryReport& report, const std::vector<std::string>& kept) {
  if (report.check.empty() || !report.checks.empty()) return {};
  const auto near = nearest(report.check, kept);
  return failure(ErrorCode::kInvalidInput, "no node keeps measurements of " + in_quotes(report.check),
                 near ? "did you mean " + printable(*near) + "?" : "--history --json lists the ids of all checks");
}

/// False if a node could not be read.
bool report_nodes(const std::vector<NodeMeasurements>& nodes, const Console& console) {
  bool whole = true;
  for (const NodeMeasurements& node : nodes) {
    if (node.error) console.error(Error(*node.error).within(node.node));
    if (!node.error && !node.applied) console.remark(node.node + " was never applied: it keeps no measurements.");
    whole = whole && !node.error;
  }
  return whole;
}

}  // namespace

Result<ExitCode> run_verify_history(const VerifyCommandOptions& options, const GlobalOptions& global,
                                    Console& console) {
  SPARK_CHECK(check_flags(options));
  const Interrupts interrupts(console);
  auto input = load_for("verify", options.file, false, console);
  if (!input.loaded) return input.exit_code;
  const auto& cluster = *input.loaded->cluster;
  SPARK_TRY(auto run, run_options("verify", cluster, options.selection, global, interrupts.token(), console));
  ProgressDisplay progress(console, cluster);
  run.progress = progress.listener();
  MeasuredHistoryReport report{cluster.name, options.check, read_measurements(cluster, run), {}};
  progress.clear();
  report.checks = check_histories(cluster, report.nodes);
  std::vector<std::string> kept;
  for (const CheckHistory& history : report.checks) kept.push_back(history.id);
  if (!options.check.empty()) {
    std::erase_if(report.checks, [&](const CheckHistory& history) { return history.id != options.check; });
  }
  const bool whole = report_nodes(report.nodes, console);
  if (whole) SPARK_CHECK(check_is_kept(report, kept));
  if (options.json) {
    console.result_json(to_json_value(report));
  } else {
    console.result(to_text(report, local_clock(), console.style()));
  }
  return whole ? ExitCode::kDone : ExitCode::kNodeFailed;
}

}  // namespace sparkplan
