#include "engine/sync/reading_progress.h"

#include <algorithm>

namespace sparkplan {

std::optional<TransferProgress> ReadingProgress::note(std::int64_t read_bytes, Clock::time_point now) {
  constexpr std::chrono::milliseconds kInterval{500};
  constexpr double kWeight = 0.3;  // Of the time since the last message, so that the rate does not jump.
  if (total_bytes_ <= 0 || now - noted_ < kInterval) return std::nullopt;
  const auto read = std::clamp(read_bytes, read_bytes_, total_bytes_);
  const double seconds = std::chrono::duration<double>(now - noted_).count();
  const double rate = static_cast<double>(read - read_bytes_) / seconds;
  rate_ = rate_ == 0 ? rate : rate_ + kWeight * (rate - rate_);
  read_bytes_ = read;
  noted_ = now;
  shown_ = true;
  return TransferProgress{read, total_bytes_, 0, rate_, TransferPhase::kReading};
}

std::optional<TransferProgress> ReadingProgress::last() const {
  if (!shown_) return std::nullopt;
  return TransferProgress{total_bytes_, total_bytes_, 0, rate_, TransferPhase::kReading, true};
}

}  // namespace sparkplan
