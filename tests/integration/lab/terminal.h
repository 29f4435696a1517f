#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "tests/integration/lab/lab.h"

namespace sparkplan::test {

/// A program on its own terminal; the case reads the output and types the answers.
class Terminal {
 public:
  explicit Terminal(const Words& argv);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  /// Kills the program if it still runs.
  ~Terminal();

  /// Reads until the program has printed `text`; false when the time is over or the program has ended.
  bool wait_for(std::string_view text, std::chrono::milliseconds deadline = seconds(30));
  void type(std::string_view keys) const;
  /// Types Ctrl-C.
  void interrupt() const { type("\x03"); }
  /// Sends SIGKILL to the program alone.
  void kill() const;
  /// Reads until the program ends. Returns the exit status (128 + signal number), or nothing while it still runs.
  std::optional<int> finish(std::chrono::milliseconds deadline = seconds(60));

  const std::string& transcript() const { return transcript_; }

 private:
  /// False at the end of the output.
  bool read_some(std::chrono::milliseconds patience);

  pid_t pid_ = -1;
  int descriptor_ = -1;
  bool ended_ = false;
  std::optional<int> status_;
  std::string transcript_;
};

}  // namespace sparkplan::test
