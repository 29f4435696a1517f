#include "engine/launch/job_report.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "engine/core/text.h"

namespace sparkplan {
namespace {

std::string signal_text(int number) {
  const char* name = ::sigdescr_np(number);
  return "signal " + std::to_string(number) + (name == nullptr ? "" : " (" + std::string(name) + ")");
}

std::string why_not_started(const RankEnded& ended) {
  if (ended.failed_step == "execute" && ended.errno_value == ENOENT) return "command not found";
  const char* reason = ::strerrordesc_np(ended.errno_value);
  return "not started: " + printable(ended.failed_step) + ": " + (reason == nullptr ? "unknown error" : reason);
}

}  // namespace

bool failed_preflight(const JobReport& report) {
  return std::any_of(report.preflight.begin(), report.preflight.end(),
                     [](const PreflightCheck& check) { return check.status == CheckStatus::kFail; });
}

std::string ending_text(const RankEnded& ended) {
  std::string how = ended.signal      ? signal_text(*ended.signal)
                    : ended.exit_code ? "exit code " + std::to_string(*ended.exit_code)
                                      : "it did not end";
  switch (ended.ending) {
    case RankEnding::kNotStarted:
      return why_not_started(ended);
    case RankEnding::kTimeLimit:
      return "time limit, ended by " + how;
    case RankEnding::kStopped:
      return "stopped, ended by " + how;
    case RankEnding::kExited:
      break;
  }
  return how;
}

std::string ending_text(const RankReport& rank) {
  const std::string text = ending_text(*rank.ended);
  const bool is_named = rank.ended->ending == RankEnding::kNotStarted && !rank.program.empty();
  return is_named ? text + ": " + printable(rank.program) : text;
}

}  // namespace sparkplan
