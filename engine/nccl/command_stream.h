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

/// Commands as they come in on a file descriptor, read by a thread of its own: when the input ends, the
/// whole process ends at once, whatever NCCL or the driver are waiting for just then.
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

/// Writes one frame; a peer that is gone ends the process.
void send_answer(int output, const RankAnswer& answer);

}  // namespace sparkplan::nccl
