#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "engine/core/result.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// The exit status of a program whose input has ended.
inline constexpr int kInputEndedStatus = 75;

/// Commands from a file descriptor, read by a separate thread. When the input ends, or after two minutes without a
/// command, the whole process ends at once: what it has written is valid at every moment.
class CommandStream {
 public:
  explicit CommandStream(int input);

  /// Waits for the next command. Errors: kInvalidInput.
  Result<CopyCommand> next();

 private:
  void read_all();
  void put(Result<CopyCommand> command);

  int input_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Result<CopyCommand>> commands_;
};

}  // namespace sparkplan::copy
