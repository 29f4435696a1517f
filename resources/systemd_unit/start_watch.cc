#include "resources/systemd_unit/unit_change.h"

#include <chrono>
#include <vector>

#include "engine/core/text.h"
#include "resources/systemd_unit/unit_state.h"

namespace sparkplan::systemd_unit {
namespace {

constexpr std::chrono::milliseconds kPause{100};
constexpr int kLooksUntilSteady = 6;  ///< Half a second, with a pause between looks.
constexpr int kLooksAtMost = 300;     ///< `systemctl start` has already waited for a slow start.

/// systemd forgets a stopped unit that no other unit needs, so its conditions are checked again.
bool condition_fails(const std::string& name, const NodeReader& node) {
  const std::vector<std::string> argv{"systemd-analyze", "condition", "--unit=" + name};
  const Result<CommandOutput> output = node.query(argv, kQueryDeadline);
  return output && (output->standard_output + output->standard_error).find("onditions failed") != std::string::npos;
}

/// The result of the start of a unit that is down again; empty if the unit should be up.
std::string end_of(const std::string& name, const RunningState& unit, const NodeReader& node) {
  if (unit.state != state::kStopped) return unit.state == state::kFailed ? std::string() : unit.state;
  if (condition_fails(name, node)) return std::string(state::kSkipped);
  return unit.ends_by_itself && unit.result == "success" ? std::string(state::kFinished) : std::string();
}

Error did_not_stay_up(const std::string& name, const RunningState& unit) {
  Error error{ErrorCode::kFailed, name + " does not stay up", {}, {}, "journalctl -u " + name + " shows details"};
  if (unit.state == state::kStopped) {
    error.message = name + " ended right after it was started";
    error.hint = "if it is to run once and end, set Type=oneshot; RemainAfterExit=yes keeps it started";
  } else if (!unit.result.empty() && unit.result != "success") {
    error.message += " (" + unit.result + ")";
  }
  return error;
}

}  // namespace

Result<std::string> watch_start(const std::string& name, const NodeReader& node) {
  std::string incarnation;
  int steady = 0;
  for (int look = 0; look < kLooksAtMost; ++look) {
    SPARK_TRY(const RunningState unit, running_state(name, node));
    const bool down = !unit.up && unit.settled;
    if (std::string end = down ? end_of(name, unit, node) : std::string(); !end.empty()) return end;
    const bool another = steady > 0 && unit.incarnation != incarnation;
    if (unit.state == state::kFailed || down || another) {
      return failure(with_last_messages(name, did_not_stay_up(name, unit), node));
    }
    if (unit.up && unit.settled) {
      ++steady;
      incarnation = unit.incarnation;
      if (!unit.is_service || unit.ends_by_itself || steady >= kLooksUntilSteady) {
        return std::string(state::kStarted);
      }
    }
    node.pause(kPause);
  }
  return failure(ErrorCode::kUnreachable, name + " is still starting", "systemctl status " + name);
}

Error with_last_messages(const std::string& name, Error error, const NodeReader& node) {
  const std::vector<std::string> argv{"journalctl", "--unit=" + name, "-n", "5", "-o", "cat", "--no-pager", "--quiet"};
  const Result<CommandOutput> journal = node.query(argv, kQueryDeadline);
  if (!journal || journal->exit_status != 0) return error;  // The failure itself is more important.
  std::vector<std::string> lines;
  for (const std::string_view line : split_lines(journal->standard_output)) {
    if (!trim(line).empty()) lines.emplace_back(trim(line));
  }
  if (!lines.empty()) error.message += "; its last messages: " + join(lines, " / ");
  return error;
}

}  // namespace sparkplan::systemd_unit
