#include "engine/nccl/nccl_library.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include "engine/core/text.h"
#include "engine/nccl/shared_library.h"
#include "engine/wire/nccl_messages.h"

namespace sparkplan::nccl {
namespace {

constexpr const char* kName = "libnccl.so.2";
constexpr std::size_t kMostFolders = 64;  ///< Of PATH.

/// Below the folder of a Python's packages. Sources: nvidia-nccl-cu12 and -cu13 (wheels); PyTorch, torch/__init__.py.
constexpr std::array<const char*, 2> kPythonPlaces{"nvidia/nccl/lib", "torch/lib"};
/// Debian's Python has the second one.
constexpr std::array<const char*, 2> kPackageFolders{"site-packages", "dist-packages"};

/// The folders python3, python3.12 ... below `folder`, in the order of their names.
std::vector<std::filesystem::path> pythons_below(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> found;
  std::error_code error;
  for (std::filesystem::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (at->path().filename().string().starts_with("python3")) found.push_back(at->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// Adds those of one Python.
void add_libraries_of(const std::filesystem::path& python, std::vector<std::string>& found) {
  for (const char* packages : kPackageFolders) {
    for (const char* place : kPythonPlaces) {
      auto file = (python / packages / place / kName).string();
      const bool is_new = std::find(found.begin(), found.end(), file) == found.end();
      if (is_new && found.size() < kMostPythonLibraries && ::access(file.c_str(), R_OK) == 0) {
        found.push_back(std::move(file));
      }
    }
  }
}

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

std::vector<std::string> python_libraries(std::string_view path) {
  std::vector<std::string> found;
  std::size_t folders = 0;
  for (const auto folder : split(path, ':')) {
    if (!folder.starts_with('/') || ++folders > kMostFolders) continue;
    // /opt/venv/bin belongs to /opt/venv/lib/python3.12/site-packages.
    auto programs = std::filesystem::path(folder).lexically_normal();
    if (!programs.has_filename()) programs = programs.parent_path();
    for (const auto& python : pythons_below(programs.parent_path() / "lib")) add_libraries_of(python, found);
  }
  return found;
}

Result<Library> load_library(const std::string& path, const std::map<std::string, std::string>& environment,
                             const std::vector<std::string>& more) {
  auto file = choose(path, environment);
  void* handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  auto complaint = handle == nullptr ? loader_complaint() : std::string();
  for (std::size_t i = 0; handle == nullptr && i < more.size(); ++i) {
    file = more[i];
    handle = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) complaint = loader_complaint();
  }
  if (handle == nullptr) {
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
