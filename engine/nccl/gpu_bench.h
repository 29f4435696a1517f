#pragma once

#include <chrono>
#include <cstdint>
#include <functional>

#include "engine/core/result.h"
#include "engine/nccl/cuda_driver.h"
#include "engine/wire/gpu_messages.h"

namespace sparkplan::gpu {

/// Loads one GPU and times it. Used from one thread; the GPU's context becomes the current one of the thread. After an
/// error only the end of the process frees its resources.
class Bench {
 public:
  explicit Bench(const cuda::Functions& driver) : cuda_(driver) {}

  /// Errors of all three: see fault().
  Result<void> open(cuda::Device device);
  /// Calculates for `duration`, and calls `sample` ten times a second while the GPU is busy, but not in the first three
  /// eighths. Fills in `teraflops` of the other five, and adds wrong results to `wrong`.
  Result<void> calculate(std::chrono::milliseconds duration, const std::function<void()>& sample, GpuLoad& into);
  /// Copies within the GPU's memory. Fills in `copy_gigabytes` and `copied_bytes`, and adds words that did not arrive
  /// to `wrong`. The two buffers take at most a quarter of the free memory.
  Result<void> copy(GpuLoad& into);

  GpuFault fault() const { return fault_; }

 private:
  using Launch = std::function<Result<void>()>;

  Result<void> checked(cuda::Status status, const char* doing);
  Result<void> launch(cuda::Function kernel, void** parameters);
  /// The seconds that `launches` times `one` take on the GPU. Calls `meanwhile` after they are queued.
  Result<double> timed(int launches, const Launch& one, const std::function<void()>& meanwhile);
  Result<void> wait();
  Result<std::int64_t> free_memory();
  Result<std::int64_t> bytes_to_copy();
  Result<std::int64_t> wrong_results();
  Result<std::int64_t> wrong_words(cuda::Address at, std::int64_t bytes);

  cuda::Functions cuda_;
  GpuFault fault_ = GpuFault::kCuda;
  cuda::Stream stream_ = nullptr;
  cuda::Function load_ = nullptr;
  cuda::Function copy_ = nullptr;
  cuda::Address results_ = 0;
  unsigned int blocks_ = 0;
  bool unified_ = false;
};

}  // namespace sparkplan::gpu
