#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/cli/terminal/console.h"
#include "engine/fleet/session/selection.h"
#include "engine/launch/job_run.h"
#include "engine/report/exit_code.h"

/// The parts that `exec` and `run` share.
namespace sparkplan {

/// The values of --launcher.
std::vector<std::string> launcher_names();

/// The selected nodes without `maintenance`. Errors: kInvalidInput if no node is left.
Result<std::vector<const NodeSpec*>> job_members(const Cluster& cluster, const Selection& selection);

/// Where the output of a job goes.
class JobOutputs {
 public:
  /// Files in `folder`; if that is empty, the end of each rank's output for JSON, or lines on the console. Both
  /// arguments outlive the object. Errors: those of OutputFiles.
  static Result<JobOutputs> open(const std::string& folder, bool json, const std::vector<NodeJob>& jobs,
                                 const Console& console);

  JobOutput& output();
  /// Moves the end of the output into the report, if it was kept.
  void add_to(JobReport& report);

 private:
  JobOutputs() = default;

  std::optional<PrefixedLines> lines_;
  std::optional<OutputFiles> files_;
  std::optional<OutputTails> tails_;
};

/// Prints the outcome. Returns the exit code.
ExitCode finish_job(JobReport report, bool json, const Console& console);

}  // namespace sparkplan
