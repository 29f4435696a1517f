#pragma once

#include <chrono>
#include <cstdint>
#include <mutex>

namespace sparkplan::copy {

/// A token bucket for one direction of this node. Used from several threads.
class RateLimit {
 public:
  using Clock = std::chrono::steady_clock;

  /// Bytes per second; 0: no limit. Before the first take().
  void set(std::int64_t rate) { rate_ = rate; }
  /// Waits until that many bytes may pass.
  void take(std::size_t bytes);

 private:
  std::int64_t rate_ = 0;
  std::mutex mutex_;
  Clock::time_point free_at_{};
};

}  // namespace sparkplan::copy
