#include "engine/nccl/nccl_library.h"

#include <unistd.h>

#include "engine/core/text.h"
#include "engine/nccl/shared_library.h"
#include "engine/wire/nccl_messages.h"

namespace sparkplan::nccl {
namespace {

constexpr const char* kName = "libnccl.so.2";

std::string choose(const std::string& path, const std::map<std::string, std::string>& environment) {
  if (!path.empty()) return path;
  // The loader read this variable before the controller sent its value.
  const auto folders = environment.find("LD_LIBRARY_PATH");
  if (folders == environment.end()) return kName;
  for (const auto folder : split(folders->second, ':')) {
    auto candidate = std::string(folder) + "/" + kName;
    if (!folder.empty() && ::access(candidate.c_str(), F_OK) == 0) return candidate;
  }
  return kName;
}

Result<void> find_functions(const SharedLibrary& in, Functions& f) {
  SPARK_CHECK(in.find("ncclGetUniqueId", f.ncclGetUniqueId));
  SPARK_CHECK(in.find("ncclCommInitRank", f.ncclCommInitRank));
  SPARK_CHECK(in.find("ncclCommDestroy", f.ncclCommDestroy));
  SPARK_CHECK(in.find("ncclCommGetAsyncError", f.ncclCommGetAsyncError));
  SPARK_CHECK(in.find("ncclGetErrorString", f.ncclGetErrorString));
  SPARK_CHECK(in.find("ncclGetLastError", f.ncclGetLastError));
  SPARK_CHECK(in.find("ncclAllReduce", f.ncclAllReduce));
  SPARK_CHECK(in.find("ncclAllGather", f.ncclAllGather));
  SPARK_CHECK(in.find("ncclReduceScatter", f.ncclReduceScatter));
  SPARK_CHECK(in.find("ncclBroadcast", f.ncclBroadcast));
  SPARK_CHECK(in.find("ncclReduce", f.ncclReduce));
  SPARK_CHECK(in.find("ncclSend", f.ncclSend));
  SPARK_CHECK(in.find("ncclRecv", f.ncclRecv));
  SPARK_CHECK(in.find("ncclGroupStart", f.ncclGroupStart));
  SPARK_CHECK(in.find("ncclGroupEnd", f.ncclGroupEnd));
  return {};
}

}  // namespace

Result<Library> load_library(const std::string& path, const std::map<std::string, std::string>& environment) {
  const auto file = choose(path, environment);
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const auto complaint = loader_complaint();
    const bool there = file.find('/') != std::string::npos && ::access(file.c_str(), F_OK) == 0;
    if (there) return failure(ErrorCode::kInvalidInput, "the loader refuses it: " + complaint);
    return failure(ErrorCode::kNotFound, "there is no NCCL: " + complaint);
  }
  Library library;
  const SharedLibrary in{handle, file};
  if (auto found = in.find("ncclGetVersion", library.functions.ncclGetVersion); !found) {
    return failure(ErrorCode::kInvalidInput, file + " is not NCCL: it has no ncclGetVersion");
  }
  Dl_info where{};
  void* function = ::dlsym(handle, "ncclGetVersion");
  library.path = ::dladdr(function, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname : file;
  if (library.functions.ncclGetVersion(&library.version) != kSuccess) {
    return failure(ErrorCode::kInvalidInput, library.path + " does not report its version");
  }
  if (library.version < kOldestNccl) {
    return failure(ErrorCode::kUnsupported, library.path + " is NCCL " + nccl_version_text(library.version) +
                                                "; the oldest supported version is " + nccl_version_text(kOldestNccl));
  }
  SPARK_CHECK(find_functions(in, library.functions));
  return library;
}

}  // namespace sparkplan::nccl
