#include "engine/copy/rate_limit.h"

#include <algorithm>
#include <thread>

namespace sparkplan::copy {

void RateLimit::take(std::size_t bytes) {
  if (rate_ <= 0) return;
  // Bytes that were not used within this time are lost. So no burst follows a pause.
  constexpr std::chrono::milliseconds kLongestCredit{200};
  Clock::time_point until;
  {
    const std::lock_guard lock(mutex_);
    const auto cost = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(static_cast<double>(bytes) / static_cast<double>(rate_)));
    free_at_ = std::max(free_at_, Clock::now() - kLongestCredit) + cost;
    until = free_at_;
  }
  std::this_thread::sleep_until(until);
}

}  // namespace sparkplan::copy
