#include "engine/cli/output/run_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <utility>

#include "engine/cli/output/new_file.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/text.h"

namespace sparkplan {
namespace {

constexpr const char* kFile = "runs.jsonl";
constexpr const char* kEarlierFile = "runs.jsonl.1";
constexpr std::size_t kLongestLine = std::size_t{1} << 19;
constexpr auto kLockPatience = std::chrono::seconds(1);
constexpr auto kLockPause = std::chrono::milliseconds(20);

/// Another user could lead a run of root to a file of their choice.
Result<void> check_own(const FileDescriptor& opened, const std::string& path, mode_t kind) {
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return failure(system_error("stat " + path, errno));
  const bool others_write = (status.st_mode & (S_IWGRP | S_IWOTH)) != 0;
  if ((status.st_mode & S_IFMT) == kind && status.st_uid == ::geteuid() && !others_write) return {};
  return failure(ErrorCode::kRefused,
                 path + " is not a " + (kind == S_IFDIR ? "directory" : "file") + " that only this user can write to");
}

Result<FileDescriptor> open_folder(const std::string& folder) {
  FileDescriptor opened(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (opened.get() < 0) return failure(system_error("open " + folder, errno));
  SPARK_CHECK(check_own(opened, folder, S_IFDIR));
  return opened;
}

/// The folder and its parents, for this user only.
Result<void> make_folders(const std::string& folder) {
  std::filesystem::path path;
  for (const auto& part : std::filesystem::path(folder)) {
    path /= part;
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
      return failure(system_error("create " + path.string(), errno));
  }
  return {};
}

/// Held until the folder's descriptor is closed.
Result<void> lock_folder(const FileDescriptor& folder, const std::string& name) {
  const auto end = std::chrono::steady_clock::now() + kLockPatience;
  while (::flock(folder.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK && errno != EINTR) return failure(system_error("lock " + name, errno));
    if (std::chrono::steady_clock::now() > end) return failure(ErrorCode::kBusy, name + " is locked by another run");
    std::this_thread::sleep_for(kLockPause);
  }
  return {};
}

/// O_NONBLOCK: opening a FIFO must not wait for its other end.
Result<FileDescriptor> open_file(const FileDescriptor& folder, const std::string& path, const char* name, int flags) {
  FileDescriptor file(::openat(folder.get(), name, flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600));
  if (file.get() < 0) return failure(system_error("open " + path, errno));
  SPARK_CHECK(check_own(file, path, S_IFREG));
  return file;
}

/// True if the last line has its end. A full disk may have cut it.
bool ends_with_line(const FileDescriptor& file, off_t size) {
  char last = '\n';
  return size == 0 || ::pread(file.get(), &last, 1, size - 1) != 1 || last == '\n';
}

}  // namespace

std::string run_log_folder() {
  const char* state = std::getenv("XDG_STATE_HOME");
  if (state != nullptr && *state == '/') return std::string(state) + "/sparkplan";
  const char* home = std::getenv("HOME");
  return home != nullptr && *home == '/' ? std::string(home) + "/.local/state/sparkplan" : "";
}

Result<void> append_to_run_log(const std::string& folder, const RecordedRun& run) {
  if (folder.empty()) return failure(ErrorCode::kNotFound, "neither XDG_STATE_HOME nor HOME is set");
  const std::string path = folder + "/" + kFile;
  std::string line = line_of(run);
  if (line.size() > kLongestLine) return failure(ErrorCode::kUnsupported, "the record of this run is too long");
  SPARK_CHECK(make_folders(folder));
  SPARK_TRY(const FileDescriptor opened, open_folder(folder));
  SPARK_CHECK(lock_folder(opened, folder));
  constexpr int kFlags = O_RDWR | O_APPEND | O_CREAT;
  SPARK_TRY(const FileDescriptor file, open_file(opened, path, kFile, kFlags));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure(system_error("stat " + path, errno));
  if (static_cast<std::size_t>(status.st_size) + line.size() > kLargestRunLog && status.st_size > 0) {
    if (::renameat(opened.get(), kFile, opened.get(), kEarlierFile) != 0)
      return failure(system_error("rename " + path, errno));
    SPARK_TRY(const FileDescriptor next, open_file(opened, path, kFile, kFlags));
    return write_all(next.get(), line, path);
  }
  if (!ends_with_line(file, status.st_size)) line.insert(0, 1, '\n');
  return write_all(file.get(), line, path);
}

Result<std::vector<RecordedRun>> read_run_log(const std::string& folder) {
  std::vector<RecordedRun> runs;
  if (folder.empty()) return runs;
  auto opened = open_folder(folder);
  if (!opened && opened.error().code == ErrorCode::kNotFound) return runs;
  if (!opened) return failure(opened.error());
  for (const char* name : {kEarlierFile, kFile}) {
    const std::string path = folder + "/" + name;
    auto file = open_file(*opened, path, name, O_RDONLY);
    if (!file && file.error().code == ErrorCode::kNotFound) continue;
    if (!file) return failure(file.error());
    SPARK_TRY(const std::string text, read_up_to(file->get(), kLargestRunLog + kLongestLine, path));
    for (const auto line : split_lines(text)) {
      if (auto run = parse_record(line)) runs.push_back(*std::move(run));
    }
  }
  return runs;
}

}  // namespace sparkplan
