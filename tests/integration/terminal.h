#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>

#include "tests/integration/lab.h"

namespace sparkplan::test {

/// A program on a terminal of its own, with somebody in front of it who reads and types.
class Terminal {
 public:
  explicit Terminal(const Words& argv);
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  /// Kills what still runs.
  ~Terminal();

  /// Reads until `text` has been printed; false when it was not in time or the program has ended.
  bool wait_for(std::string_view text, std::chrono::milliseconds deadline = seconds(30));
  void type(std::string_view keys) const;
  /// Ctrl-C
  void interrupt() const { type("\x03"); }
  /// SIGKILL, to the program alone.
  void kill() const;
  /// Reads to the end; the exit status (128 + signal number), or nothing while it still runs.
  std::optional<int> finish(std::chrono::milliseconds deadline = seconds(60));

  const std::string& transcript() const { return transcript_; }

 private:
  /// False at the end of what is printed.
  bool read_some(std::chrono::milliseconds patience);

  pid_t pid_ = -1;
  int descriptor_ = -1;
  bool ended_ = false;
  std::optional<int> status_;
  std::string transcript_;
};

}  // namespace sparkplan::test
