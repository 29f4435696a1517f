#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>

#include "engine/core/result.h"
#include "engine/wire/nccl_messages.h"

namespace sparkplan::nccl {

/// The exit status of a rank whose input has ended.
inline constexpr int kInputEndedStatus = 75;

/// Commands from a file descriptor, read by a separate thread. When the input ends, the whole process ends at once,
/// even if NCCL or the driver is waiting.
class CommandStream {
 public:
  explicit CommandStream(int input);

  /// Waits for the next command. Errors: kInvalidInput.
  Result<RankCommand> next();

 private:
  void read_all();

  int input_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Result<RankCommand>> commands_;
};

/// Writes one frame; if the peer is gone, the process ends.
void send_answer(int output, const RankAnswer& answer);

}  // namespace sparkplan::nccl
