#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "engine/core/result.h"
#include "engine/launch/job_output.h"

namespace sparkplan {

/// Output on its way to a JobOutput, which may be slow: a terminal, a pager, a full disk. The threads of the nodes
/// never wait for it, so that they can send signs of life. They read no more output while the queue is full, and the
/// ranks wait in write().
class OutputQueue {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{4} << 20;
  /// The memory of a piece beside its bytes: a node may send single bytes.
  static constexpr std::size_t kPieceBytes = 64;

  explicit OutputQueue(JobOutput& output);
  OutputQueue(const OutputQueue&) = delete;
  OutputQueue& operator=(const OutputQueue&) = delete;
  ~OutputQueue();

  /// False if the queue is still full after `patience`.
  bool wait_for_room(std::chrono::milliseconds patience);
  /// Adds a piece, even if the queue is full.
  void put(const OutputSource& source, std::string bytes);
  /// Waits until all output is written. Later output is dropped.
  void finish();
  /// The first error of the output. All later output is dropped.
  std::optional<Error> error() const;

 private:
  struct Piece {
    OutputSource source;
    std::string bytes;
  };
  void write_all();

  JobOutput& output_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Piece> pieces_;
  std::size_t bytes_ = 0;  ///< With kPieceBytes for each piece. Including the piece that is being written.
  bool closed_ = false;
  std::optional<Error> error_;
  std::jthread writer_;
};

}  // namespace sparkplan
