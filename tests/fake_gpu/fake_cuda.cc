// libcuda.so.1 for tests: eight GPUs that use the machine's own memory, with real streams, each on its own thread.
// Environment variables set its properties:
//   FAKE_GPU=none          no GPUs
//   FAKE_GPU_MEMORY=BYTES  free memory (default 40 MiB)
//   FAKE_GPU_UNIFIED=1     GPUs without their own memory
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kSuccess = 0;
constexpr int kInvalidValue = 1;
constexpr int kOutOfMemory = 2;
constexpr int kNoDevice = 100;
constexpr int kNotReady = 600;

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

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
};

struct Event {
  Clock::time_point at;
};

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
int cuDeviceGetCount(int* count) { return *count = 8, kSuccess; }
int cuDeviceGet(int* device, int ordinal) { return *device = ordinal, ordinal < 8 ? kSuccess : kInvalidValue; }
int cuDeviceGetName(char* name, int length, int) {
  std::strncpy(name, "Fake GPU", static_cast<std::size_t>(length));
  return kSuccess;
}
int cuDeviceGetAttribute(int* value, int, int) {
  return *value = variable("FAKE_GPU_UNIFIED") == "1" ? 1 : 0, kSuccess;
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
  return stream->enqueue([event] { event->at = Clock::now(); }), kSuccess;
}
int cuEventElapsedTime(float* milliseconds, Event* start, Event* end) {
  *milliseconds = std::chrono::duration<float, std::milli>(end->at - start->at).count();
  return kSuccess;
}
int cuEventDestroy_v2(Event* event) { return delete event, kSuccess; }

/// For the fake NCCL: enqueues work in the order of the stream.
void fake_cuda_enqueue(Stream* stream, std::function<void()> task) { stream->enqueue(std::move(task)); }
}
