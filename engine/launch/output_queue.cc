#include "engine/launch/output_queue.h"

#include <utility>

namespace sparkplan {

OutputQueue::OutputQueue(JobOutput& output) : output_(output), writer_([this] { write_all(); }) {}

OutputQueue::~OutputQueue() { finish(); }

bool OutputQueue::wait_for_room(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, patience, [this] { return bytes_ < kMostBytes; });
}

void OutputQueue::put(const OutputSource& source, std::string bytes) {
  const std::lock_guard lock(mutex_);
  if (closed_ || error_) return;
  bytes_ += bytes.size() + kPieceBytes;
  pieces_.push_back({source, std::move(bytes)});
  changed_.notify_all();
}

void OutputQueue::finish() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  if (writer_.joinable()) writer_.join();
}

std::optional<Error> OutputQueue::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

void OutputQueue::write_all() {
  std::unique_lock lock(mutex_);
  while (true) {
    changed_.wait(lock, [this] { return closed_ || !pieces_.empty(); });
    if (pieces_.empty()) break;
    const Piece piece = std::move(pieces_.front());
    pieces_.pop_front();
    const bool wanted = !error_;
    lock.unlock();
    auto written = wanted ? output_.take(piece.source, piece.bytes) : Result<void>();
    lock.lock();
    bytes_ -= piece.bytes.size() + kPieceBytes;
    if (!written && !error_) error_ = std::move(written).error();
    changed_.notify_all();
  }
  if (error_) return;
  lock.unlock();
  auto finished = output_.finish();
  lock.lock();
  if (!finished) error_ = std::move(finished).error();
}

}  // namespace sparkplan
