#include "engine/copy/chunk_buffer.h"

#include <mutex>
#include <utility>

#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {
namespace {

/// Unused memory that the process keeps. On some machines it is the GPU's memory, too.
constexpr std::size_t kMostSpare = 8;

/// Used from many threads.
class SpareBuffers {
 public:
  using Buffer = std::unique_ptr<std::vector<char>>;

  SpareBuffers() { spare_.reserve(kMostSpare); }

  Buffer take() {
    {
      const std::lock_guard lock(mutex_);
      if (!spare_.empty()) {
        Buffer buffer = std::move(spare_.back());
        spare_.pop_back();
        return buffer;
      }
    }
    return std::make_unique<std::vector<char>>(static_cast<std::size_t>(kCopyChunk));
  }

  void give(Buffer buffer) {
    const std::lock_guard lock(mutex_);
    if (spare_.size() < kMostSpare && buffer->size() == static_cast<std::size_t>(kCopyChunk)) {
      spare_.push_back(std::move(buffer));
    }
  }

 private:
  std::mutex mutex_;
  std::vector<Buffer> spare_;
};

SpareBuffers& spare_buffers() {
  static SpareBuffers buffers;
  return buffers;
}

}  // namespace

std::shared_ptr<std::vector<char>> chunk_buffer(std::size_t size) {
  if (size != static_cast<std::size_t>(kCopyChunk)) return std::make_shared<std::vector<char>>(size);
  return {spare_buffers().take().release(),
          [](std::vector<char>* used) { spare_buffers().give(std::unique_ptr<std::vector<char>>(used)); }};
}

}  // namespace sparkplan::copy
