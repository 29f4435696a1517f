#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <utility>

#include "engine/core/result.h"

namespace sparkplan {

/// Closes its file descriptor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&&) = delete;
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }
  /// Closes the previous descriptor.
  void replace(int number) {
    if (number_ >= 0) ::close(number_);
    number_ = number;
  }
  /// The caller has to close it.
  int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

/// For the locks of open file descriptions. `type`: F_RDLCK, F_WRLCK. Source: fcntl(2).
inline struct flock lock_of_whole_file(short type) {
  struct flock range {};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  return range;
}

/// The errno of the last system call, as "verb path".
inline Error file_error(const std::string& verb, const std::filesystem::path& path) {
  return system_error(verb + " " + path.string(), errno);
}

}  // namespace sparkplan
