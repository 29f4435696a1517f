#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "engine/wire/job_messages.h"

namespace sparkplan::job {

/// One started rank. Its output pipes are non-blocking and closed on exec.
struct RankProcess {
  int rank = 0;
  pid_t pid = 0;
  int output = -1;  ///< -1: at its end.
  int error = -1;
  int input = -1;   ///< Of a rank with RankSpec::input. -1: it takes no more.
  int report = -1;  ///< Tells why the command was not executed; see start_fault().
  std::chrono::steady_clock::time_point started{};
  bool ended = false;
  std::string unread = {};  ///< Its input that the pipe has not taken yet.
};

/// Why a rank could not be started.
struct StartFault {
  int errno_value = 0;
  std::string step;  ///< "execute", "change to the directory"
};

/// Starts the rank in a new session, with a pipe or /dev/null as its input. `fault` is set if no process could be made.
RankProcess start_rank(const RankSpec& spec, const StartJob& job, std::optional<StartFault>& fault);

/// After the end of the process: why its command was not executed. Nothing: it was.
std::optional<StartFault> start_fault(RankProcess& process);

}  // namespace sparkplan::job
