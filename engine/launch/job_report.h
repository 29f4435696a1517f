#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/doctor/check_status.h"
#include "engine/wire/job_messages.h"

namespace sparkplan {

/// One process that `exec` or `run` started.
struct RankReport {
  int rank = 0;
  std::int64_t pid = 0;            ///< 0: it was not started.
  std::optional<RankEnded> ended;  ///< Nothing: its end is unknown.
  std::string output;              ///< The end of both streams, if the run kept it.
  bool output_is_cut = false;      ///< Its beginning is missing.
  std::string program = {};        ///< The program that was started: the command, or its launcher.

  bool succeeded() const { return ended && ended->ending == RankEnding::kExited && ended->exit_code == 0; }
};

struct JobNodeReport {
  std::string name;
  std::optional<Error> error;  ///< The node failed or was lost.
  std::vector<RankReport> ranks;
  std::vector<std::int64_t> left;                 ///< Processes of the job that could not be ended.
  std::vector<std::string> containers_left = {};  ///< Their ids, or why they could not be read or removed.
  std::string address = {};                       ///< Where the node is reached.
};

/// One condition for a start.
struct PreflightCheck {
  std::string name;  ///< "gpu", "port"
  std::vector<std::string> nodes;
  CheckStatus status = CheckStatus::kPass;
  std::string text;  ///< The finding.
  std::string fix;   ///< Empty if nothing has to be done.
};

/// The outcome of `exec` or `run`.
struct JobReport {
  std::string command;            ///< "exec", "run"
  std::vector<std::string> argv;  ///< The command, as given.
  std::vector<JobNodeReport> nodes;
  std::vector<PreflightCheck> preflight;  ///< Of `run`. After a failure nothing is started.
  bool interrupted = false;               ///< Ctrl-C.
  std::optional<Error> output_error;      ///< The output could not be written.
  double seconds = 0;
};

/// True if a check failed: nothing was started.
bool failed_preflight(const JobReport& report);

/// "exit code 3", "signal 9 (Killed)", "command not found", "stopped", "time limit". For an end that is no success.
std::string ending_text(const RankEnded& ended);
/// How a rank with `ended` came to its end. Names the program if it was not started: "command not found: mpirun".
std::string ending_text(const RankReport& rank);

}  // namespace sparkplan
