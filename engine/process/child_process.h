#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"

namespace sparkplan {

/// The output of a finished program, and its exit status.
struct CapturedOutput {
  int exit_status = 0;  ///< 128 + signal number when a signal ended it.
  std::string standard_output;
  std::string standard_error;
  bool cut_off = false;  ///< It printed more than CaptureLimits::max_bytes to standard output.
};

struct CaptureLimits {
  std::chrono::milliseconds deadline{30'000};
  /// Of each stream. Bytes beyond it are read and dropped; for standard output that sets CapturedOutput::cut_off.
  std::size_t max_bytes = std::size_t{4} << 20;
  /// Called every `sign_of_life_interval` while the program runs.
  std::function<void()> sign_of_life = {};
  std::chrono::milliseconds sign_of_life_interval{20'000};
  /// Written to the program's standard input, as long as it reads; must outlive the call.
  std::string_view standard_input = {};
  /// The program gets SIGTERM when the calling thread ends, and so when this process is killed.
  bool ends_with_us = false;
};

/// Runs a program to its end without a shell. argv[0] is an absolute path or is searched in
/// /usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin, never in $PATH. Standard input is empty unless
/// `limits` provides some. A non-zero exit is a value, not an Error.
/// Errors: kNotFound (no such program), kUnreachable (deadline passed; its whole process group is killed), kFailed.
Result<CapturedOutput> run_and_capture(std::span<const std::string> argv, const CaptureLimits& limits = {});

class ChildProcess;

/// The two halves of run_and_capture(), for a caller that does something else in between. Meanwhile the program may
/// wait for a reader of its output. Errors: kNotFound, kFailed.
Result<ChildProcess> start_to_capture(std::span<const std::string> argv, bool ends_with_us = false);
/// `limits.deadline` begins with this call. `name` is for the error. Errors: kUnreachable, as run_and_capture().
Result<CapturedOutput> wait_and_capture(ChildProcess child, const std::string& name, const CaptureLimits& limits = {});

/// How long ChildProcess::kill() waits for the end of a child that the kernel does not let end.
inline constexpr std::chrono::seconds kKillPatience{5};

/// A running program with its three streams as pipes. It has its own process group, so that a Ctrl-C at the terminal
/// does not reach it. kill() ends it when the object is destroyed.
class ChildProcess {
 public:
  /// `program` is executed as it is (also /proc/self/fd/N); no search, no shell. `ends_with_us`: as in CaptureLimits.
  /// Errors: kNotFound, kFailed.
  static Result<ChildProcess> start(const std::string& program, const std::vector<std::string>& arguments,
                                    bool ends_with_us = false);

  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) noexcept;
  ~ChildProcess();

  /// File descriptors of our ends; owned by the object. -1 once closed.
  int standard_input() const;
  int standard_output() const;
  int standard_error() const;
  void close_standard_input();

  /// The exit status, or nothing if the child still runs after `deadline`. After a signal it is 128 + its number. It is
  /// 255 if the kernel keeps no status, because SIGCHLD is ignored.
  std::optional<int> wait(std::chrono::milliseconds deadline);
  /// SIGKILL to its process group, then reaped. A child that does not end within `patience` is left to the system.
  void kill(std::chrono::milliseconds patience = kKillPatience);

 private:
  struct Impl;
  void note_end(int exit_status);
  explicit ChildProcess(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace sparkplan
