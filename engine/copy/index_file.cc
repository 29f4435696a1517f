#include "engine/copy/index_file.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <thread>

#include "engine/copy/digest_index.h"
#include "engine/core/digest.h"

namespace sparkplan::copy {
namespace {

/// Enough for nine trees of 4 TB in chunks of 8 MiB, with 80 bytes per line.
constexpr std::size_t kLargestIndex = std::size_t{512} << 20;
constexpr std::chrono::seconds kWriterPatience{10};
constexpr std::chrono::milliseconds kBetweenLocks{50};

}  // namespace

std::string index_name(const std::string& path) {
  return state_directory() + "/" + sha256(path).substr(0, 32) + std::string(kIndexEnding);
}

std::string new_index_name(const std::string& name) { return name + ".new"; }

/// O_NONBLOCK: the user of an index can put a FIFO in its place. open() would wait for the FIFO's other end.
FileDescriptor open_index(const std::string& name, int flags) {
  return FileDescriptor(::open(name.c_str(), flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600));
}

Result<FileDescriptor> open_locked_index(const std::string& name, int flags) {
  const auto end = std::chrono::steady_clock::now() + kWriterPatience;
  while (true) {
    FileDescriptor file = open_index(name, O_RDWR | flags);
    if (!file.valid() && errno == ENOENT && (flags & O_CREAT) == 0) return file;
    if (!file.valid()) return failure(system_error("open " + name, errno));
    struct stat status {};
    const bool locked = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0;
    // A writer before may have removed or replaced the file.
    if (locked && ::fstat(file.get(), &status) == 0 && status.st_nlink > 0) return file;
    if (std::chrono::steady_clock::now() >= end) {
      return failure(ErrorCode::kBusy, "another sync writes to this directory");
    }
    if (!locked) std::this_thread::sleep_for(kBetweenLocks);
  }
}

Result<std::string> read_index(int file) {
  std::string text;
  std::string buffer(std::size_t{1} << 20, '\0');
  while (text.size() < kLargestIndex) {
    const auto count = ::read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(system_error("read the index", errno));
    if (count == 0) break;
    text.append(buffer, 0, static_cast<std::size_t>(count));
  }
  return text;
}

FileDescriptor replace_index(const std::string& name, const std::string& text) {
  const std::string fresh = new_index_name(name);
  (void)::unlink(fresh.c_str());  // Of a process that was killed. Only the owner of the index's lock comes here.
  FileDescriptor file = open_index(fresh, O_RDWR | O_CREAT | O_EXCL | O_APPEND);
  const bool is_replaced = file.valid() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 &&
                           write_fully(file.get(), text) && ::fsync(file.get()) == 0 &&
                           ::rename(fresh.c_str(), name.c_str()) == 0;
  if (!is_replaced) {
    (void)::unlink(fresh.c_str());
    return FileDescriptor();
  }
  // Otherwise a power loss could bring the old file back, without the lines that come after the rename.
  const FileDescriptor directory(::open(state_directory().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.valid()) (void)::fsync(directory.get());
  return file;
}

}  // namespace sparkplan::copy
