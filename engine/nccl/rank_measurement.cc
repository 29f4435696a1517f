// One measurement of a rank: buffers, time, and a check of the result.
#include <algorithm>
#include <chrono>
#include <span>
#include <thread>
#include <vector>

#include "engine/nccl/pattern.h"
#include "engine/nccl/rank.h"

namespace sparkplan::nccl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kChunkElements = std::int64_t{2} << 20;  // The part of a buffer that the host holds at a time.
constexpr std::int64_t kSpreadBytes = std::int64_t{64} << 20;   // More than any GPU's cache.
constexpr unsigned int kNotANumber = 0xffffffffU;               // An element that was not overwritten cannot pass for
                                                                // data.
constexpr std::chrono::milliseconds kSpin{1};
/// A pause would add its length to a time of the host's clock.
constexpr std::chrono::milliseconds kSpinWhileTiming{200};
constexpr std::chrono::microseconds kPause{50};
constexpr int kMostBatches = 100;

/// The elements of one copy of the buffers.
std::int64_t elements_of(const CollectiveShape& shape, bool in_place) {
  return in_place ? std::max(shape.send, shape.receive) : shape.send + shape.receive;
}

/// True if no rank can end the operation before each other rank has begun it.
bool is_barrier(Collective collective) {
  return collective == Collective::kAllReduce || collective == Collective::kAllGather;
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

Result<CollectiveResult> Rank::run(const RunCollective& command) {
  const auto shape = ranks_ > 0 ? collective_shape(command.collective, command.bytes, ranks_) : CollectiveShape{};
  const bool fits = communicator_ != nullptr && shape.unit > 0 && fits_ranks(command.collective, ranks_) &&
                    (!command.in_place || has_in_place(command.collective)) && command.warm_up >= 0 &&
                    command.iterations > 0 && command.batches > 0 && command.batches <= kMostBatches;
  if (!fits) return failure(faulty(RankFault::kProtocol, protocol_error("the run command is invalid now")));
  SPARK_CHECK(check_memory(elements_of(shape, command.in_place) * kElementBytes));
  SPARK_TRY(const auto buffers, allocate(command, shape));
  if (command.check) SPARK_CHECK(fill_send_buffer(buffers, shape, command.pattern));
  CollectiveResult result;
  result.bytes = shape.bytes;
  if (command.host_clock) {
    SPARK_TRY(result.seconds, time_by_host(command, shape, buffers));
  } else {
    SPARK_TRY(result.seconds, time_by_events(command, shape, buffers));
  }
  if (command.check) SPARK_CHECK(check(command, shape, buffers, result));
  SPARK_CHECK(checked(cuda_.cuMemFree(buffers.memory), "free memory"));
  if (buffers.second != 0) SPARK_CHECK(checked(cuda_.cuMemFree(buffers.second), "free memory"));
  result.transport = transport();
  return result;
}

Result<void> Rank::check_memory(std::int64_t bytes) {
  SPARK_TRY(const auto free, free_memory());
  // With unified memory, the test's buffers must not freeze the machine.
  if (bytes <= free / 4) return {};
  return failure(faulty(RankFault::kMemory,
                        {ErrorCode::kRefused,
                         "buffers of " + std::to_string(bytes) + " bytes are over a quarter of the free memory, " +
                             std::to_string(free) + " bytes",
                         {},
                         {},
                         ""}));
}

Result<Rank::Buffers> Rank::allocate(const RunCollective& command, const CollectiveShape& shape) {
  SPARK_TRY(const auto free, free_memory());
  const auto one_copy = elements_of(shape, command.in_place) * kElementBytes;
  const auto wanted = kSpreadBytes / (std::max(shape.send, shape.receive) * kElementBytes);
  const auto copies = std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(free / 4 / one_copy, 1));
  Buffers buffers;
  buffers.copies = static_cast<int>(copies);
  if (command.in_place) {
    const auto elements = elements_of(shape, true);
    const auto offsets = in_place_offsets(command.collective, shape, rank_);
    SPARK_CHECK(checked(cuda_.cuMemAlloc(&buffers.memory, bytes_of(elements * copies)), "allocate memory"));
    buffers.send = buffers.memory + bytes_of(offsets.send);
    buffers.receive = buffers.memory + bytes_of(offsets.receive);
    buffers.send_stride = buffers.receive_stride = elements;
    buffers.cleared = buffers.memory;
    buffers.cleared_elements = elements;
    return buffers;
  }
  SPARK_CHECK(checked(cuda_.cuMemAlloc(&buffers.memory, bytes_of(shape.send * copies)), "allocate memory"));
  SPARK_CHECK(checked(cuda_.cuMemAlloc(&buffers.second, bytes_of(shape.receive * copies)), "allocate memory"));
  buffers.send = buffers.memory;
  buffers.receive = buffers.cleared = buffers.second;
  buffers.send_stride = shape.send;
  buffers.receive_stride = buffers.cleared_elements = shape.receive;
  return buffers;
}

Result<void> Rank::fill_send_buffer(const Buffers& buffers, const CollectiveShape& shape, std::int64_t pattern) {
  std::vector<float> chunk(static_cast<std::size_t>(std::min(shape.send, kChunkElements)));
  for (std::int64_t at = 0; at < shape.send; at += kChunkElements) {
    const std::span<float> part(chunk.data(), static_cast<std::size_t>(std::min(kChunkElements, shape.send - at)));
    fill(part, pattern, rank_, at);
    SPARK_CHECK(
        checked(cuda_.cuMemcpyHtoD(buffers.send + bytes_of(at), part.data(), part.size_bytes()), "copy to the GPU"));
  }
  return checked(cuda_.cuCtxSynchronize(), "copy to the GPU");
}

Result<void> Rank::wait(std::chrono::milliseconds spin) {
  const auto spin_until = Clock::now() + spin;
  while (true) {
    const auto status = cuda_.cuStreamQuery(stream_);
    if (status == cuda::kSuccess) return {};
    if (status != cuda::kNotReady) return checked(status, "wait for the GPU");
    // If a peer is gone, the GPU waits for ever: only NCCL reports it.
    nccl::Status asynchronous = kSuccess;
    SPARK_CHECK(
        checked_nccl(nccl_.functions.ncclCommGetAsyncError(communicator_, &asynchronous), "query the state of NCCL"));
    SPARK_CHECK(checked_nccl(asynchronous, "exchange data"));
    if (Clock::now() < spin_until) {
      std::this_thread::yield();
    } else {
      std::this_thread::sleep_for(kPause);
    }
  }
}

Result<void> Rank::start_barrier() {
  constexpr std::int64_t kElements = 4;
  if (barrier_ == 0) {
    SPARK_CHECK(checked(cuda_.cuMemAlloc(&barrier_, bytes_of(kElements)), "allocate memory"));
    SPARK_CHECK(checked(cuda_.cuMemsetD32(barrier_, 0, kElements), "clear memory"));
    SPARK_CHECK(checked(cuda_.cuCtxSynchronize(), "clear memory"));
  }
  return all_reduce_in(barrier_, kElements);
}

Result<double> Rank::time_by_events(const RunCollective& command, const CollectiveShape& shape,
                                    const Buffers& buffers) {
  cuda::Event begin = nullptr;
  cuda::Event end = nullptr;
  SPARK_CHECK(checked(cuda_.cuEventCreate(&begin, cuda::kDefaultEvent), "make an event"));
  SPARK_CHECK(checked(cuda_.cuEventCreate(&end, cuda::kDefaultEvent), "make an event"));
  int turn = 0;
  for (int i = 0; i < command.warm_up; ++i) SPARK_CHECK(start(command.collective, shape, buffers, turn++));
  // Recorded right after the last warm-up operation, which ends on all GPUs at about the same time. Otherwise the
  // measured time would include waiting for ranks that begin later.
  if (!is_barrier(command.collective)) SPARK_CHECK(start_barrier());
  SPARK_CHECK(checked(cuda_.cuEventRecord(begin, stream_), "start the timer"));
  for (int i = 0; i < command.iterations; ++i) SPARK_CHECK(start(command.collective, shape, buffers, turn++));
  SPARK_CHECK(checked(cuda_.cuEventRecord(end, stream_), "stop the timer"));
  SPARK_CHECK(wait(kSpin));
  float milliseconds = 0;
  SPARK_CHECK(checked(cuda_.cuEventElapsedTime(&milliseconds, begin, end), "read the time"));
  SPARK_CHECK(checked(cuda_.cuEventDestroy(begin), "destroy an event"));
  SPARK_CHECK(checked(cuda_.cuEventDestroy(end), "destroy an event"));
  return static_cast<double>(milliseconds) / 1e3 / command.iterations;
}

// Source of the method: nccl-tests, src/common.cu, BenchTime(): barrier, clock, the batch, wait for the stream, clock.
Result<double> Rank::time_by_host(const RunCollective& command, const CollectiveShape& shape, const Buffers& buffers) {
  int turn = 0;
  for (int i = 0; i < command.warm_up; ++i) SPARK_CHECK(start(command.collective, shape, buffers, turn++));
  std::vector<double> means;
  for (int batch = 0; batch < command.batches; ++batch) {
    SPARK_CHECK(start_barrier());
    SPARK_CHECK(wait(kSpinWhileTiming));
    const auto begin = Clock::now();
    for (int i = 0; i < command.iterations; ++i) SPARK_CHECK(start(command.collective, shape, buffers, turn++));
    SPARK_CHECK(wait(kSpinWhileTiming));
    means.push_back(std::chrono::duration<double>(Clock::now() - begin).count() / command.iterations);
  }
  return median(std::move(means));
}

Result<void> Rank::check(const RunCollective& command, const CollectiveShape& shape, const Buffers& buffers,
                         CollectiveResult& result) {
  const auto cleared = static_cast<std::size_t>(buffers.cleared_elements);
  SPARK_CHECK(checked(cuda_.cuMemsetD32(buffers.cleared, kNotANumber, cleared), "clear the result"));
  SPARK_CHECK(checked(cuda_.cuCtxSynchronize(), "clear the result"));
  // In place, the timed operations have overwritten the data that is sent.
  if (command.in_place) SPARK_CHECK(fill_send_buffer(buffers, shape, command.pattern));
  SPARK_CHECK(start(command.collective, shape, buffers));
  SPARK_CHECK(wait(kSpin));
  const auto expected = expected_of(command.collective, shape, rank_, ranks_);
  if (expected.empty()) return {};
  std::vector<float> chunk(static_cast<std::size_t>(std::min(shape.receive, kChunkElements)));
  Comparison comparison;
  for (std::int64_t at = 0; at < shape.receive; at += kChunkElements) {
    const std::span<float> part(chunk.data(), static_cast<std::size_t>(std::min(kChunkElements, shape.receive - at)));
    SPARK_CHECK(checked(cuda_.cuMemcpyDtoH(part.data(), buffers.receive + bytes_of(at), part.size_bytes()),
                        "copy from the GPU"));
    compare(part, at, command.pattern, ranks_, expected, comparison);
  }
  result.wrong = comparison.wrong;
  result.first_wrong = comparison.first_wrong;
  return {};
}

}  // namespace sparkplan::nccl
