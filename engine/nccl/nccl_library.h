#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/nccl/cuda_driver.h"
#include "engine/wire/nccl_messages.h"

/// The part of NCCL that a rank needs, with its own declarations.
/// Source: NCCL, nccl.h; tests/unit/nccl/headers_test.cc compares the declarations with it.
namespace sparkplan::nccl {

using Status = int;  // ncclResult_t
inline constexpr Status kSuccess = 0;
inline constexpr Status kRemoteError = 6;
inline constexpr Status kInProgress = 7;

using Communicator = struct CommunicatorBody*;
using sparkplan::kUniqueIdBytes;
struct UniqueId {
  char internal[kUniqueIdBytes];  // NOLINT: as NCCL declares it.
};

using DataType = int;  // ncclDataType_t
inline constexpr DataType kFloat32 = 7;
using Reduction = int;  // ncclRedOp_t
inline constexpr Reduction kSum = 0;

struct Functions {
  Status (*ncclGetVersion)(int* version);
  Status (*ncclGetUniqueId)(UniqueId* id);
  Status (*ncclCommInitRank)(Communicator* communicator, int ranks, UniqueId id, int rank);
  Status (*ncclCommDestroy)(Communicator communicator);
  Status (*ncclCommGetAsyncError)(Communicator communicator, Status* status);
  const char* (*ncclGetErrorString)(Status status);
  const char* (*ncclGetLastError)(Communicator communicator);
  Status (*ncclAllReduce)(const void* send, void* receive, std::size_t count, DataType type, Reduction reduction,
                          Communicator communicator, cuda::Stream stream);
  Status (*ncclAllGather)(const void* send, void* receive, std::size_t send_count, DataType type,
                          Communicator communicator, cuda::Stream stream);
  Status (*ncclReduceScatter)(const void* send, void* receive, std::size_t receive_count, DataType type,
                              Reduction reduction, Communicator communicator, cuda::Stream stream);
  Status (*ncclBroadcast)(const void* send, void* receive, std::size_t count, DataType type, int root,
                          Communicator communicator, cuda::Stream stream);
  Status (*ncclReduce)(const void* send, void* receive, std::size_t count, DataType type, Reduction reduction, int root,
                       Communicator communicator, cuda::Stream stream);
  Status (*ncclSend)(const void* send, std::size_t count, DataType type, int peer, Communicator communicator,
                     cuda::Stream stream);
  Status (*ncclRecv)(void* receive, std::size_t count, DataType type, int peer, Communicator communicator,
                     cuda::Stream stream);
  Status (*ncclGroupStart)();
  Status (*ncclGroupEnd)();
};

/// The loaded NCCL library, valid until the program ends.
struct Library {
  Functions functions{};
  std::string path;
  int version = 0;  ///< 22809
};

/// The files libnccl.so.2 of Python packages: of NVIDIA's own package and of PyTorch, for each Python whose programs
/// are in a folder of `path`, the value of PATH. The loader does not search there. At most kMostPythonLibraries.
std::vector<std::string> python_libraries(std::string_view path);
inline constexpr std::size_t kMostPythonLibraries = 16;

/// Loads `path` if it is not empty. Otherwise the first of these that there is: libnccl.so.2 in a folder of
/// `environment`'s LD_LIBRARY_PATH, the loader's default, one of `more` that the loader accepts.
/// Errors: kNotFound (no such library), kInvalidInput (the file is not NCCL), kUnsupported (older than kOldestNccl).
Result<Library> load_library(const std::string& path, const std::map<std::string, std::string>& environment,
                             const std::vector<std::string>& more = {});

}  // namespace sparkplan::nccl
