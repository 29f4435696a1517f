// libcuda.so.1 for tests: GPUs that use the machine's own memory, with real streams, each on its own thread. The two
// kernels of the GPU test take simulated time, so that their rates are the same on every machine. Variables set the
// properties, see variables.h:
//   FAKE_GPU=none          no GPUs
//   FAKE_GPU_COUNT=N       the number of GPUs (default 8)
//   FAKE_GPU_NAME=TEXT     their name
//   FAKE_GPU_MEMORY=BYTES  free memory (default 40 MiB)
//   FAKE_GPU_UNIFIED=1     GPUs without their own memory
//   FAKE_GPU_CLOCK=MHZ     the clock under load (default 2400)
//   FAKE_GPU_COPY=RATE     GB/s of a copy (default 218)
//   FAKE_GPU_WRONG=1       one result of a calculation and one word of a copy are wrong
//   FAKE_GPU_WRONG=unwritten  a calculation writes no result
//   FAKE_GPU_PTX=refuse    no kernel can be compiled
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "tests/fake_gpu/variables.h"

namespace {

using sparkplan::test::number;
using sparkplan::test::variable;
using Clock = std::chrono::steady_clock;

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNoDevice = 100;
constexpr int kNotReady = 600;
constexpr int kUnsupportedPtx = 222;
constexpr int kNoSuchFunction = 500;
constexpr int kMultiprocessors = 16;
constexpr int kIntegrated = 18;
constexpr int kProcessors = 48;

int count_of_gpus() { return static_cast<int>(number("FAKE_GPU_COUNT", 8)); }

std::size_t memory() {
  const auto text = variable("FAKE_GPU_MEMORY");
  return text.empty() ? std::size_t{40} << 20 : std::stoull(text);
}

/// Runs work in order, on one thread that lives as long as the process.
class Stream {
 public:
  Stream() {
    std::thread([this] { work(); }).detach();
  }
  void enqueue(std::function<void()> task) {
    const std::lock_guard lock(mutex_);
    ++unfinished_;
    tasks_.push_back(std::move(task));
    arrived_.notify_one();
  }
  bool idle() {
    const std::lock_guard lock(mutex_);
    return unfinished_ == 0;
  }
  /// Simulated seconds of the kernels that were run. Only the stream's own thread calls both.
  void spend(double seconds) { simulated_ += seconds; }
  double simulated() const { return simulated_; }

 private:
  void work() {
    while (true) {
      std::function<void()> task;
      {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [&] { return !tasks_.empty(); });
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
      const std::lock_guard lock(mutex_);
      --unfinished_;
    }
  }
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<std::function<void()>> tasks_;
  int unfinished_ = 0;
  double simulated_ = 0;
};

struct Event {
  Clock::time_point at;
  double simulated = 0;
};

/// The GPU test's two programs.
enum class Kernel { kLoad, kCopy };

/// As sparkplan_load: all blocks have equal results.
void calculate(std::uint32_t* results, unsigned int blocks, unsigned int threads, unsigned int rounds, Stream& stream) {
  constexpr double kStepsPerRound = 64;
  constexpr double kLanes = 128;
  const std::size_t count = std::size_t{blocks} * threads;
  const bool writes = variable("FAKE_GPU_WRONG") != "unwritten";
  for (std::size_t i = 0; writes && i < count; ++i) results[i] = static_cast<std::uint32_t>(i % threads);
  if (variable("FAKE_GPU_WRONG") == "1") results[count - 1] ^= 1;
  std::this_thread::sleep_for(std::chrono::milliseconds(1));
  const double steps = static_cast<double>(count) * rounds * kStepsPerRound;
  stream.spend(steps / (kProcessors * kLanes * number("FAKE_GPU_CLOCK", 2400) * 1e6));
}

/// As sparkplan_copy. Copying once is enough: the data stays the same.
void copy(char* to, const char* from, std::size_t bytes, Stream& stream) {
  if (std::memcmp(to, from, 16) != 0) {
    std::memcpy(to, from, bytes);
    if (variable("FAKE_GPU_WRONG") == "1") to[bytes - 1] = static_cast<char>(~to[bytes - 1]);
  }
  stream.spend(2.0 * static_cast<double>(bytes) / (number("FAKE_GPU_COPY", 218) * 1e9));
}

void* pointer(unsigned long long address) { return reinterpret_cast<void*>(address); }

}  // namespace

extern "C" {

int cuInit(unsigned int) { return variable("FAKE_GPU") == "none" ? kNoDevice : kSuccess; }
int cuDriverGetVersion(int* version) { return *version = 13000, kSuccess; }
int cuGetErrorName(int error, const char** name) {
  *name = error == kOutOfMemory ? "CUDA_ERROR_OUT_OF_MEMORY" : "CUDA_ERROR_OF_A_FAKE";
  return kSuccess;
}
int cuGetErrorString(int, const char** text) { return *text = "of a fake", kSuccess; }
int cuDeviceGetCount(int* count) { return *count = count_of_gpus(), kSuccess; }
int cuDeviceGet(int* device, int ordinal) {
  return *device = ordinal, ordinal < count_of_gpus() ? kSuccess : kInvalidValue;
}
int cuDeviceGetName(char* name, int length, int) {
  const auto chosen = variable("FAKE_GPU_NAME");
  std::strncpy(name, chosen.empty() ? "Fake GPU" : chosen.c_str(), static_cast<std::size_t>(length));
  return kSuccess;
}
int cuDeviceGetPCIBusId(char* id, int length, int device) {
  std::snprintf(id, static_cast<std::size_t>(length), "0000:%02x:00.0", static_cast<unsigned int>(device));
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int attribute, int) {
  *value = 0;
  if (attribute == kMultiprocessors) *value = kProcessors;
  if (attribute == kIntegrated && variable("FAKE_GPU_UNIFIED") == "1") *value = 1;
  return kSuccess;
}
int cuDevicePrimaryCtxRetain(void** context, int) { return *context = nullptr, kSuccess; }
int cuCtxSetCurrent(void*) { return kSuccess; }
int cuCtxSynchronize() { return kSuccess; }
int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) { return *free = *total = memory(), kSuccess; }
int cuMemAlloc_v2(unsigned long long* address, std::size_t bytes) {
  if (bytes > memory()) return kOutOfMemory;
  void* block = std::malloc(bytes);
  *address = reinterpret_cast<unsigned long long>(block);
  return block == nullptr ? kOutOfMemory : kSuccess;
}
int cuMemFree_v2(unsigned long long address) { return std::free(pointer(address)), kSuccess; }
int cuMemcpyHtoD_v2(unsigned long long to, const void* from, std::size_t bytes) {
  return std::memcpy(pointer(to), from, bytes), kSuccess;
}
int cuMemcpyDtoH_v2(void* to, unsigned long long from, std::size_t bytes) {
  return std::memcpy(to, pointer(from), bytes), kSuccess;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, std::size_t bytes, Stream* stream) {
  return stream->enqueue([=] { std::memcpy(pointer(to), pointer(from), bytes); }), kSuccess;
}
int cuMemsetD32_v2(unsigned long long to, unsigned int value, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) static_cast<unsigned int*>(pointer(to))[i] = value;
  return kSuccess;
}
int cuStreamCreate(Stream** stream, unsigned int) { return *stream = new Stream, kSuccess; }
int cuStreamQuery(Stream* stream) { return stream->idle() ? kSuccess : kNotReady; }
int cuEventCreate(Event** event, unsigned int) { return *event = new Event, kSuccess; }
int cuEventRecord(Event* event, Stream* stream) {
  return stream->enqueue([event, stream] { *event = {Clock::now(), stream->simulated()}; }), kSuccess;
}
int cuEventElapsedTime(float* milliseconds, Event* start, Event* end) {
  if (end->simulated > start->simulated) {
    return *milliseconds = static_cast<float>((end->simulated - start->simulated) * 1e3), kSuccess;
  }
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
  return kSuccess;
}
int cuEventDestroy_v2(Event* event) { return delete event, kSuccess; }

int cuModuleLoadData(void** module, const void* image) {
  const std::string text = static_cast<const char*>(image);
  const bool is_ptx = text.starts_with(".version") && text.find(".visible .entry") != std::string::npos;
  if (!is_ptx || variable("FAKE_GPU_PTX") == "refuse") return kUnsupportedPtx;
  return *module = nullptr, kSuccess;
}
int cuModuleGetFunction(const Kernel** function, void*, const char* name) {
  static const Kernel load = Kernel::kLoad;
  static const Kernel copying = Kernel::kCopy;
  *function = std::strcmp(name, "sparkplan_load") == 0   ? &load
              : std::strcmp(name, "sparkplan_copy") == 0 ? &copying
                                                         : nullptr;
  return *function == nullptr ? kNoSuchFunction : kSuccess;
}
int cuLaunchKernel(const Kernel* function, unsigned int blocks, unsigned int, unsigned int, unsigned int threads,
                   unsigned int, unsigned int, unsigned int, Stream* stream, void** parameters, void**) {
  const auto first = *static_cast<unsigned long long*>(parameters[0]);
  if (*function == Kernel::kLoad) {
    const auto rounds = *static_cast<unsigned int*>(parameters[1]);
    stream->enqueue([=] { calculate(static_cast<std::uint32_t*>(pointer(first)), blocks, threads, rounds, *stream); });
    return kSuccess;
  }
  const auto from = *static_cast<unsigned long long*>(parameters[1]);
  const auto bytes = *static_cast<std::uint64_t*>(parameters[2]) * 16;
  stream->enqueue([=] { copy(static_cast<char*>(pointer(first)), static_cast<char*>(pointer(from)), bytes, *stream); });
  return kSuccess;
}

/// For the fake NCCL: enqueues work in the order of the stream.
void fake_cuda_enqueue(Stream* stream, std::function<void()> task) { stream->enqueue(std::move(task)); }
}
