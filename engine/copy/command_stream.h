#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "engine/core/result.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// Commands from a file descriptor, as read_from_controller() reads them. It may end the process at every moment, and
/// after two minutes without a command: all written files are valid then.
class CommandStream {
 public:
  explicit CommandStream(int input);

  /// Waits for the next command. Errors: kInvalidInput.
  Result<CopyCommand> next();

 private:
  void put(Result<CopyCommand> command);

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Result<CopyCommand>> commands_;
};

}  // namespace sparkplan::copy
