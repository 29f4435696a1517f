#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>

#include "engine/core/result.h"
#include "engine/wire/nccl_messages.h"

namespace sparkplan::nccl {

/// Commands from a file descriptor, as read_from_controller() reads them: when the input ends, the process ends, even
/// if NCCL or the driver is waiting. A rank must not stay on the GPU.
class CommandStream {
 public:
  explicit CommandStream(int input);

  /// Waits for the next command. Errors: kInvalidInput.
  Result<RankCommand> next();

 private:
  void put(Result<RankCommand> command);

  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Result<RankCommand>> commands_;
};

/// Writes one frame; if the peer is gone, the process ends.
void send_answer(int output, const RankAnswer& answer);

}  // namespace sparkplan::nccl
