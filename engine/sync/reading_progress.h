#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/sync/transfer.h"

namespace sparkplan {

/// How far one node is with reading its files, as it claims: never above the total.
class ReadingProgress {
 public:
  using Clock = std::chrono::steady_clock;

  /// `total_bytes`: what the node is to read; 0: nothing, and nothing is shown.
  explicit ReadingProgress(std::int64_t total_bytes, Clock::time_point now = Clock::now())
      : total_bytes_(total_bytes), noted_(now) {}
  /// The progress after a message. Nothing within half a second of the one before: a node may send messages without
  /// end.
  std::optional<TransferProgress> note(std::int64_t read_bytes, Clock::time_point now = Clock::now());
  /// When the node has read everything. Nothing if no progress was shown.
  std::optional<TransferProgress> last() const;

 private:
  std::int64_t total_bytes_;
  std::int64_t read_bytes_ = 0;
  double rate_ = 0;  ///< Bytes per second.
  Clock::time_point noted_;
  bool shown_ = false;
};

}  // namespace sparkplan
