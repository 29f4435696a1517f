#include "engine/nccl/gpu_bench.h"

#include <algorithm>
#include <array>
#include <string>
#include <thread>
#include <vector>

#include "engine/nccl/environment.h"
#include "engine/nccl/gpu_kernels.h"

namespace sparkplan::gpu {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
constexpr std::int64_t kWantedBytes = 256 * kMebibyte;
constexpr std::int64_t kFewestBytes = 64 * kMebibyte;  // A smaller buffer would measure the cache.
constexpr std::int64_t kChunkBytes = 8 * kMebibyte;    // The part of a buffer that the host holds at a time.
constexpr std::int64_t kCopyUnit = 16;                 // Bytes that a thread copies at once.
constexpr std::int64_t kWordBytes = 4;
constexpr unsigned int kPattern = 0x5aa5c33c;
constexpr unsigned int kUnwritten = 0xffffffff;  // As a float no number, so that the calculation cannot have it.

// 1536 threads: no GPU since Ampere holds fewer in a multiprocessor, so all blocks run at the same time.
constexpr unsigned int kThreads = 256;
constexpr unsigned int kBlocksPerProcessor = 6;
constexpr unsigned int kRounds = 16'384;  // Some milliseconds.
constexpr int kLoadLaunches = 4;
constexpr int kCopyLaunches = 20;
constexpr int kCopyBatches = 5;
constexpr double kOperationsPerStep = 2;
constexpr double kTera = 1e12;
constexpr double kGiga = 1e9;

constexpr std::chrono::milliseconds kBetweenSamples{100};
constexpr std::chrono::microseconds kPause{200};
constexpr std::chrono::seconds kLongestBatch{20};

}  // namespace

Result<void> Bench::checked(cuda::Status status, const char* doing) {
  if (status == cuda::kSuccess) return {};
  fault_ = status == cuda::kOutOfMemory ? GpuFault::kMemory : GpuFault::kCuda;
  return failure(ErrorCode::kFailed, std::string(doing) + ": " + cuda::describe(cuda_, status));
}

Result<void> Bench::open(cuda::Device device) {
  cuda::Context context = nullptr;
  cuda::Module module = nullptr;
  int processors = 0;
  int integrated = 0;
  SPARK_CHECK(checked(cuda_.cuDeviceGetAttribute(&processors, cuda::kMultiprocessors, device), "query the GPU"));
  SPARK_CHECK(checked(cuda_.cuDeviceGetAttribute(&integrated, cuda::kIntegrated, device), "query the GPU"));
  SPARK_CHECK(checked(cuda_.cuDevicePrimaryCtxRetain(&context, device), "open the GPU"));
  SPARK_CHECK(checked(cuda_.cuCtxSetCurrent(context), "open the GPU"));
  SPARK_CHECK(checked(cuda_.cuStreamCreate(&stream_, cuda::kNonBlockingStream), "make a stream"));
  const std::string text = kernels();
  SPARK_CHECK(checked(cuda_.cuModuleLoadData(&module, text.c_str()), "compile the test's programs"));
  SPARK_CHECK(checked(cuda_.cuModuleGetFunction(&load_, module, kLoadKernel), "find the test's programs"));
  SPARK_CHECK(checked(cuda_.cuModuleGetFunction(&copy_, module, kCopyKernel), "find the test's programs"));
  blocks_ = static_cast<unsigned int>(std::max(processors, 1)) * kBlocksPerProcessor;
  unified_ = integrated != 0;
  const auto count = std::size_t{blocks_} * kThreads;
  SPARK_CHECK(checked(cuda_.cuMemAlloc(&results_, count * kWordBytes), "allocate memory"));
  SPARK_CHECK(checked(cuda_.cuMemsetD32(results_, kUnwritten, count), "fill memory"));
  return checked(cuda_.cuCtxSynchronize(), "fill memory");
}

Result<void> Bench::launch(cuda::Function kernel, void** parameters) {
  return checked(cuda_.cuLaunchKernel(kernel, blocks_, 1, 1, kThreads, 1, 1, 0, stream_, parameters, nullptr),
                 "start work on the GPU");
}

Result<void> Bench::wait() {
  const auto deadline = Clock::now() + kLongestBatch;
  while (true) {
    const auto status = cuda_.cuStreamQuery(stream_);
    if (status != cuda::kNotReady) return checked(status, "wait for the GPU");
    if (Clock::now() >= deadline) {
      fault_ = GpuFault::kHangs;
      return failure(ErrorCode::kFailed,
                     "the GPU did not finish a piece of work within " + std::to_string(kLongestBatch.count()) + " s");
    }
    std::this_thread::sleep_for(kPause);
  }
}

Result<double> Bench::timed(int launches, const Launch& one, const std::function<void()>& meanwhile) {
  constexpr double kMillisecondsPerSecond = 1e3;
  cuda::Event begin = nullptr;
  cuda::Event end = nullptr;
  SPARK_CHECK(checked(cuda_.cuEventCreate(&begin, cuda::kDefaultEvent), "make an event"));
  SPARK_CHECK(checked(cuda_.cuEventCreate(&end, cuda::kDefaultEvent), "make an event"));
  SPARK_CHECK(checked(cuda_.cuEventRecord(begin, stream_), "start the timer"));
  for (int i = 0; i < launches; ++i) SPARK_CHECK(one());
  SPARK_CHECK(checked(cuda_.cuEventRecord(end, stream_), "stop the timer"));
  meanwhile();
  SPARK_CHECK(wait());
  float milliseconds = 0;
  SPARK_CHECK(checked(cuda_.cuEventElapsedTime(&milliseconds, begin, end), "read the time"));
  SPARK_CHECK(checked(cuda_.cuEventDestroy(begin), "destroy an event"));
  SPARK_CHECK(checked(cuda_.cuEventDestroy(end), "destroy an event"));
  if (milliseconds > 0) return static_cast<double>(milliseconds) / kMillisecondsPerSecond;
  return failure(ErrorCode::kFailed, "the GPU's clock did not move");
}

Result<void> Bench::calculate(std::chrono::milliseconds duration, const std::function<void()>& sample, GpuLoad& into) {
  const auto begun = Clock::now();
  const auto settled = begun + duration * 3 / 8;
  auto next_sample = settled;
  double seconds = 0;
  double batches = 0;
  unsigned int rounds = kRounds;
  std::array<void*, 2> parameters{&results_, &rounds};
  while (batches == 0 || Clock::now() < begun + duration) {
    const auto now = Clock::now();
    const auto meanwhile = [&] {
      if (now < next_sample) return;
      sample();
      next_sample = now + kBetweenSamples;
    };
    SPARK_TRY(const auto taken, timed(
                                    kLoadLaunches, [&] { return launch(load_, parameters.data()); }, meanwhile));
    if (now < settled) continue;
    seconds += taken;
    batches += 1;
  }
  const double steps = static_cast<double>(blocks_) * kThreads * kRounds * kStepsPerRound;
  into.teraflops = batches * kLoadLaunches * steps * kOperationsPerStep / seconds / kTera;
  SPARK_TRY(const auto wrong, wrong_results());
  into.wrong += wrong;
  return {};
}

/// All blocks have calculated the same, so their results are equal to the bit. A result that was not written is wrong:
/// without it, a calculation that never ran would be a fast one.
Result<std::int64_t> Bench::wrong_results() {
  std::vector<std::uint32_t> results(std::size_t{blocks_} * kThreads);
  SPARK_CHECK(checked(cuda_.cuMemcpyDtoH(results.data(), results_, results.size() * kWordBytes), "copy from the GPU"));
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i] == kUnwritten || results[i] != results[i % kThreads]) ++wrong;
  }
  return wrong;
}

Result<std::int64_t> Bench::free_memory() {
  std::size_t free = 0;
  std::size_t total = 0;
  SPARK_CHECK(checked(cuda_.cuMemGetInfo(&free, &total), "ask for the free memory"));
  const auto bytes = static_cast<std::int64_t>(free);
  if (!unified_) return bytes;
  SPARK_TRY(const auto meminfo, nccl::read_text("/proc/meminfo"));
  SPARK_TRY(const auto available, nccl::available_memory(meminfo));
  return std::min(bytes, available);
}

Result<std::int64_t> Bench::bytes_to_copy() {
  SPARK_TRY(const auto free, free_memory());
  // With unified memory, the test's buffers must not freeze the machine: together a quarter of what is free.
  const auto bytes = std::min(kWantedBytes, free / 8 / kMebibyte * kMebibyte);
  if (bytes >= kFewestBytes) return bytes;
  fault_ = GpuFault::kMemory;
  return failure(ErrorCode::kRefused, "only " + std::to_string(free / kMebibyte) + " MiB are free, the copy needs " +
                                          std::to_string(kFewestBytes * 8 / kMebibyte));
}

Result<void> Bench::copy(GpuLoad& into) {
  SPARK_TRY(const auto bytes, bytes_to_copy());
  const auto size = static_cast<std::size_t>(bytes);
  cuda::Address from = 0;
  cuda::Address to = 0;
  SPARK_CHECK(checked(cuda_.cuMemAlloc(&from, size), "allocate memory"));
  SPARK_CHECK(checked(cuda_.cuMemAlloc(&to, size), "allocate memory"));
  SPARK_CHECK(checked(cuda_.cuMemsetD32(from, kPattern, size / kWordBytes), "fill memory"));
  SPARK_CHECK(checked(cuda_.cuMemsetD32(to, 0, size / kWordBytes), "fill memory"));
  SPARK_CHECK(checked(cuda_.cuCtxSynchronize(), "fill memory"));
  auto count = static_cast<std::uint64_t>(bytes / kCopyUnit);
  std::array<void*, 3> parameters{&to, &from, &count};
  std::array<double, kCopyBatches> seconds{};
  const Launch one = [&] { return launch(copy_, parameters.data()); };
  SPARK_CHECK(timed(2, one, [] {}));
  for (double& taken : seconds) {
    SPARK_TRY(taken, timed(kCopyLaunches, one, [] {}));
  }
  std::sort(seconds.begin(), seconds.end());
  into.copied_bytes = bytes;
  into.copy_gigabytes = 2.0 * static_cast<double>(bytes) * kCopyLaunches / seconds[kCopyBatches / 2] / kGiga;
  SPARK_TRY(const auto wrong, wrong_words(to, bytes));
  into.wrong += wrong;
  SPARK_CHECK(checked(cuda_.cuMemFree(from), "free memory"));
  return checked(cuda_.cuMemFree(to), "free memory");
}

Result<std::int64_t> Bench::wrong_words(cuda::Address at, std::int64_t bytes) {
  std::vector<std::uint32_t> chunk(static_cast<std::size_t>(kChunkBytes / kWordBytes));
  std::int64_t wrong = 0;
  for (std::int64_t begin = 0; begin < bytes; begin += kChunkBytes) {
    chunk.resize(static_cast<std::size_t>(std::min(kChunkBytes, bytes - begin) / kWordBytes));
    const auto from = at + static_cast<cuda::Address>(begin);
    SPARK_CHECK(checked(cuda_.cuMemcpyDtoH(chunk.data(), from, chunk.size() * kWordBytes), "copy from the GPU"));
    wrong += std::count_if(chunk.begin(), chunk.end(), [](std::uint32_t word) { return word != kPattern; });
  }
  return wrong;
}

}  // namespace sparkplan::gpu
