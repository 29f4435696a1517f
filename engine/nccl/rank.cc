#include "engine/nccl/rank.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <thread>
#include <vector>

#include "engine/nccl/environment.h"
#include "engine/nccl/pattern.h"

namespace sparkplan::nccl {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::int64_t kElementBytes = 4;
constexpr std::int64_t kChunkElements = std::int64_t{2} << 20;  // The part of a buffer that the host holds at a time.
constexpr std::int64_t kSpreadBytes = std::int64_t{64} << 20;   // More than any GPU's cache.
constexpr unsigned int kNotANumber = 0xffffffffU;               // An element that was not overwritten cannot pass for
                                                                // data.
constexpr std::chrono::milliseconds kSpin{1};
constexpr std::chrono::microseconds kPause{50};

/// NCCL and the driver represent GPU addresses as pointers.
void* pointer(cuda::Address address) {
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(address));  // NOLINT(performance-no-int-to-ptr)
}

Error protocol_error(std::string what) { return make_error(ErrorCode::kInvalidInput, std::move(what)); }

}  // namespace

Error Rank::faulty(RankFault fault, Error error) {
  fault_ = fault;
  return error;
}

Result<void> Rank::checked(cuda::Status status, const char* doing) {
  if (status == cuda::kSuccess) return {};
  const auto fault = status == cuda::kOutOfMemory ? RankFault::kMemory : RankFault::kCuda;
  return failure(
      faulty(fault, {ErrorCode::kFailed, std::string(doing) + ": " + cuda::describe(cuda_, status), {}, {}, ""}));
}

Result<void> Rank::checked_nccl(nccl::Status status, const char* doing) {
  if (status == kSuccess || status == kInProgress) return {};
  const auto& f = nccl_.functions;
  std::string message = std::string(doing) + ": " + f.ncclGetErrorString(status);
  const char* last = f.ncclGetLastError(communicator_);
  if (last != nullptr && *last != '\0') message += std::string(" (") + last + ")";
  const auto fault = status == kRemoteError ? RankFault::kPeer : RankFault::kNccl;
  return failure(faulty(fault, {ErrorCode::kFailed, std::move(message), {}, {}, ""}));
}

Result<PreparedRank> Rank::prepare(const PrepareRank& command) {
  if (prepared_) return failure(faulty(RankFault::kProtocol, protocol_error("the rank is prepared already")));
  take_environment(command.environment, log_.path());
  PreparedRank answer;
  SPARK_CHECK(open_gpu(command.device, answer));
  SPARK_CHECK(open_library(command, answer));
  // Without this file, no variables are set by it.
  const auto conf = read_text("/etc/nccl.conf");
  if (conf) answer.other_conf_lines = other_variables(*conf, command.environment);
  prepared_ = true;
  return answer;
}

Result<void> Rank::open_gpu(int device, PreparedRank& answer) {
  auto driver = cuda::load_driver();
  if (!driver) return failure(faulty(RankFault::kNoDriver, std::move(driver).error()));
  cuda_ = *driver;
  const auto begun = cuda_.cuInit(0);
  int count = 0;
  if (begun == cuda::kSuccess) SPARK_CHECK(checked(cuda_.cuDeviceGetCount(&count), "count the GPUs"));
  if (begun == cuda::kNoDevice || (begun == cuda::kSuccess && device >= count)) {
    return failure(faulty(RankFault::kNoGpu,
                          {ErrorCode::kNotFound,
                           "there is no GPU " + std::to_string(device) + "; the driver shows " + std::to_string(count),
                           {},
                           {},
                           ""}));
  }
  SPARK_CHECK(checked(begun, "initialize the driver"));
  SPARK_CHECK(checked(cuda_.cuDriverGetVersion(&answer.driver_version), "read the driver's version"));
  cuda::Device gpu = 0;
  cuda::Context context = nullptr;
  std::array<char, 256> name{};
  int integrated = 0;
  SPARK_CHECK(checked(cuda_.cuDeviceGet(&gpu, device), "find the GPU"));
  SPARK_CHECK(checked(cuda_.cuDeviceGetName(name.data(), static_cast<int>(name.size() - 1), gpu), "read its name"));
  SPARK_CHECK(checked(cuda_.cuDeviceGetAttribute(&integrated, cuda::kIntegrated, gpu), "query the GPU"));
  SPARK_CHECK(checked(cuda_.cuDevicePrimaryCtxRetain(&context, gpu), "open the GPU"));
  SPARK_CHECK(checked(cuda_.cuCtxSetCurrent(context), "open the GPU"));
  SPARK_CHECK(checked(cuda_.cuStreamCreate(&stream_, cuda::kNonBlockingStream), "make a stream"));
  answer.gpu = name.data();
  answer.unified_memory = unified_ = integrated != 0;
  SPARK_TRY(answer.memory_free_bytes, free_memory());
  return {};
}

Result<std::int64_t> Rank::free_memory() const {
  std::size_t free = 0;
  std::size_t total = 0;
  if (cuda_.cuMemGetInfo(&free, &total) != cuda::kSuccess) {
    return failure(ErrorCode::kFailed, "the driver does not report how much memory is free");
  }
  auto bytes = static_cast<std::int64_t>(free);
  if (!unified_) return bytes;
  SPARK_TRY(const auto meminfo, read_text("/proc/meminfo"));
  SPARK_TRY(const auto available, available_memory(meminfo));
  return std::min(bytes, available);
}

Result<void> Rank::open_library(const PrepareRank& command, PreparedRank& answer) {
  auto library = load_library(command.library, command.environment);
  if (!library) {
    const auto code = library.error().code;
    const auto fault = code == ErrorCode::kNotFound      ? RankFault::kNoLibrary
                       : code == ErrorCode::kUnsupported ? RankFault::kLibraryTooOld
                                                         : RankFault::kNotNccl;
    return failure(faulty(fault, std::move(library).error()));
  }
  nccl_ = std::move(*library);
  answer.nccl_version = nccl_.version;
  answer.library = nccl_.path;
  if (!command.make_id) return {};
  UniqueId id{};
  SPARK_CHECK(checked_nccl(nccl_.functions.ncclGetUniqueId(&id), "make a unique id"));
  answer.id.assign(id.internal, kUniqueIdBytes);
  return {};
}

Result<JoinedRank> Rank::join(const JoinRank& command) {
  const bool fits = prepared_ && communicator_ == nullptr && command.ranks > 0 && command.rank >= 0 &&
                    command.rank < command.ranks && command.id.size() == kUniqueIdBytes;
  if (!fits) return failure(faulty(RankFault::kProtocol, protocol_error("the join command is invalid now")));
  rank_ = command.rank;
  ranks_ = command.ranks;
  UniqueId id{};
  std::memcpy(id.internal, command.id.data(), kUniqueIdBytes);
  SPARK_CHECK(
      checked_nccl(nccl_.functions.ncclCommInitRank(&communicator_, ranks_, id, rank_), "join the other ranks"));
  return JoinedRank{transport()};
}

void Rank::end() {
  if (communicator_ != nullptr) (void)nccl_.functions.ncclCommDestroy(communicator_);
  communicator_ = nullptr;
}

Result<CollectiveResult> Rank::run(const RunCollective& command) {
  const auto shape = ranks_ > 0 ? collective_shape(command.collective, command.bytes, ranks_) : CollectiveShape{};
  const bool fits = communicator_ != nullptr && shape.unit > 0 && command.warm_up >= 0 && command.iterations > 0;
  if (!fits) return failure(faulty(RankFault::kProtocol, protocol_error("the run command is invalid now")));
  SPARK_CHECK(check_memory((shape.send + shape.receive) * kElementBytes));
  SPARK_TRY(const auto buffers, allocate(shape));
  SPARK_CHECK(fill_send_buffer(buffers, shape, command.pattern));
  CollectiveResult result;
  result.bytes = shape.bytes;
  SPARK_TRY(result.seconds, time(command, shape, buffers));
  if (command.check) SPARK_CHECK(check(command, shape, buffers, result));
  SPARK_CHECK(checked(cuda_.cuMemFree(buffers.send), "free memory"));
  SPARK_CHECK(checked(cuda_.cuMemFree(buffers.receive), "free memory"));
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

Result<Rank::Buffers> Rank::allocate(const CollectiveShape& shape) {
  SPARK_TRY(const auto free, free_memory());
  const auto pair = (shape.send + shape.receive) * kElementBytes;
  const auto wanted = kSpreadBytes / (std::max(shape.send, shape.receive) * kElementBytes);
  Buffers buffers;
  buffers.copies = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, std::max<std::int64_t>(free / 4 / pair, 1)));
  const auto bytes = [&](std::int64_t elements) {
    return static_cast<std::size_t>(elements * kElementBytes) * static_cast<std::size_t>(buffers.copies);
  };
  SPARK_CHECK(checked(cuda_.cuMemAlloc(&buffers.send, bytes(shape.send)), "allocate memory"));
  SPARK_CHECK(checked(cuda_.cuMemAlloc(&buffers.receive, bytes(shape.receive)), "allocate memory"));
  return buffers;
}

Result<void> Rank::fill_send_buffer(const Buffers& buffers, const CollectiveShape& shape, std::int64_t pattern) {
  std::vector<float> chunk(static_cast<std::size_t>(std::min(shape.send, kChunkElements)));
  for (std::int64_t at = 0; at < shape.send; at += kChunkElements) {
    const std::span<float> part(chunk.data(), static_cast<std::size_t>(std::min(kChunkElements, shape.send - at)));
    fill(part, pattern, rank_, at);
    const auto to = buffers.send + static_cast<cuda::Address>(at * kElementBytes);
    SPARK_CHECK(checked(cuda_.cuMemcpyHtoD(to, part.data(), part.size_bytes()), "copy to the GPU"));
  }
  return checked(cuda_.cuCtxSynchronize(), "copy to the GPU");
}

Result<void> Rank::start(Collective collective, const CollectiveShape& shape, const Buffers& all, int turn) {
  const auto& f = nccl_.functions;
  const auto copy = static_cast<std::int64_t>(turn % all.copies);
  const Buffers buffers{all.send + static_cast<cuda::Address>(copy * shape.send * kElementBytes),
                        all.receive + static_cast<cuda::Address>(copy * shape.receive * kElementBytes), 1};
  const void* send = pointer(buffers.send);
  void* receive = pointer(buffers.receive);
  const auto unit = static_cast<std::size_t>(shape.unit);
  switch (collective) {
    case Collective::kAllReduce:
      return checked_nccl(f.ncclAllReduce(send, receive, unit, kFloat32, kSum, communicator_, stream_), "all_reduce");
    case Collective::kAllGather:
      return checked_nccl(f.ncclAllGather(send, receive, unit, kFloat32, communicator_, stream_), "all_gather");
    case Collective::kReduceScatter:
      return checked_nccl(f.ncclReduceScatter(send, receive, unit, kFloat32, kSum, communicator_, stream_),
                          "reduce_scatter");
    case Collective::kBroadcast:
      return checked_nccl(f.ncclBroadcast(send, receive, unit, kFloat32, 0, communicator_, stream_), "broadcast");
    case Collective::kAllToAll:
    case Collective::kSendReceive:
      break;
  }
  SPARK_CHECK(checked_nccl(f.ncclGroupStart(), "begin a group"));
  SPARK_CHECK(start_sends(collective, shape, buffers));
  return checked_nccl(f.ncclGroupEnd(), "end a group");
}

Result<void> Rank::start_sends(Collective collective, const CollectiveShape& shape, const Buffers& buffers) {
  const auto& f = nccl_.functions;
  const auto unit = static_cast<std::size_t>(shape.unit);
  if (collective == Collective::kSendReceive) {
    SPARK_CHECK(checked_nccl(
        f.ncclSend(pointer(buffers.send), unit, kFloat32, (rank_ + 1) % ranks_, communicator_, stream_), "send"));
    return checked_nccl(
        f.ncclRecv(pointer(buffers.receive), unit, kFloat32, (rank_ + ranks_ - 1) % ranks_, communicator_, stream_),
        "receive");
  }
  for (int peer = 0; peer < ranks_; ++peer) {
    const std::int64_t bytes = shape.unit * kElementBytes * peer;
    const auto offset = static_cast<cuda::Address>(bytes);
    SPARK_CHECK(
        checked_nccl(f.ncclSend(pointer(buffers.send + offset), unit, kFloat32, peer, communicator_, stream_), "send"));
    SPARK_CHECK(checked_nccl(
        f.ncclRecv(pointer(buffers.receive + offset), unit, kFloat32, peer, communicator_, stream_), "receive"));
  }
  return {};
}

Result<void> Rank::wait() {
  const auto spin_until = Clock::now() + kSpin;
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

Result<double> Rank::time(const RunCollective& command, const CollectiveShape& shape, const Buffers& buffers) {
  cuda::Event begin = nullptr;
  cuda::Event end = nullptr;
  SPARK_CHECK(checked(cuda_.cuEventCreate(&begin, cuda::kDefaultEvent), "make an event"));
  SPARK_CHECK(checked(cuda_.cuEventCreate(&end, cuda::kDefaultEvent), "make an event"));
  int turn = 0;
  for (int i = 0; i < command.warm_up; ++i) SPARK_CHECK(start(command.collective, shape, buffers, turn++));
  // Recorded right after the last warm-up operation, which ends on all GPUs at about the same time. Otherwise the
  // measured time would include waiting for ranks that begin later.
  SPARK_CHECK(checked(cuda_.cuEventRecord(begin, stream_), "start the timer"));
  for (int i = 0; i < command.iterations; ++i) SPARK_CHECK(start(command.collective, shape, buffers, turn++));
  SPARK_CHECK(checked(cuda_.cuEventRecord(end, stream_), "stop the timer"));
  SPARK_CHECK(wait());
  float milliseconds = 0;
  SPARK_CHECK(checked(cuda_.cuEventElapsedTime(&milliseconds, begin, end), "read the time"));
  SPARK_CHECK(checked(cuda_.cuEventDestroy(begin), "destroy an event"));
  SPARK_CHECK(checked(cuda_.cuEventDestroy(end), "destroy an event"));
  return static_cast<double>(milliseconds) / 1e3 / command.iterations;
}

Result<void> Rank::check(const RunCollective& command, const CollectiveShape& shape, const Buffers& buffers,
                         CollectiveResult& result) {
  SPARK_CHECK(checked(cuda_.cuMemsetD32(buffers.receive, kNotANumber, static_cast<std::size_t>(shape.receive)),
                      "clear the result"));
  SPARK_CHECK(checked(cuda_.cuCtxSynchronize(), "clear the result"));
  SPARK_CHECK(start(command.collective, shape, buffers));
  SPARK_CHECK(wait());
  const auto expected = expected_of(command.collective, shape, rank_, ranks_);
  std::vector<float> chunk(static_cast<std::size_t>(std::min(shape.receive, kChunkElements)));
  Comparison comparison;
  for (std::int64_t at = 0; at < shape.receive; at += kChunkElements) {
    const std::span<float> part(chunk.data(), static_cast<std::size_t>(std::min(kChunkElements, shape.receive - at)));
    const auto from = buffers.receive + static_cast<cuda::Address>(at * kElementBytes);
    SPARK_CHECK(checked(cuda_.cuMemcpyDtoH(part.data(), from, part.size_bytes()), "copy from the GPU"));
    compare(part, at, command.pattern, ranks_, expected, comparison);
  }
  result.wrong = comparison.wrong;
  result.first_wrong = comparison.first_wrong;
  return {};
}

}  // namespace sparkplan::nccl
