#include "engine/nccl/rank.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

#include "engine/nccl/environment.h"

namespace sparkplan::nccl {
namespace {

/// A name in PATH may lead to a folder over a link.
bool is_same_file(const std::string& one, const std::string& other) {
  std::error_code error;
  return one == other || std::filesystem::equivalent(one, other, error);
}

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
  answer.gpus = std::clamp(count, 1, kMostGpus);
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
  const char* path = command.in_image ? std::getenv("PATH") : nullptr;
  const auto of_python = path != nullptr ? python_libraries(path) : std::vector<std::string>();
  auto library = load_library(command.library, command.environment, of_python);
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
  const auto other = std::find_if(of_python.begin(), of_python.end(),
                                  [&](const std::string& file) { return !is_same_file(file, nccl_.path); });
  if (other != of_python.end()) answer.python_library = *other;
  if (!command.make_id) return {};
  UniqueId id{};
  SPARK_CHECK(checked_nccl(nccl_.functions.ncclGetUniqueId(&id), "make a unique id"));
  answer.id.assign(id.internal, kUniqueIdBytes);
  return {};
}

Result<JoinedRank> Rank::join(const JoinRank& command) {
  const bool fits = prepared_ && communicator_ == nullptr && command.ranks > 0 && command.rank >= 0 &&
                    command.rank < command.ranks && is_unique_id(command.id);
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

}  // namespace sparkplan::nccl
