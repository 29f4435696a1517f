#pragma once

#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/result.h"

namespace sparkplan {

/// Closes its file descriptor.
class FileDescriptor {
 public:
  explicit FileDescriptor(int number = -1) : number_(number) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    replace(other.release());
    return *this;
  }
  ~FileDescriptor() { replace(-1); }

  int get() const { return number_; }
  bool valid() const { return number_ >= 0; }
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

/// I/O. The next bytes of a file up to its end, at most `most`. `name`: for the error.
/// Errors: those of read(2).
Result<std::string> read_up_to(int file, std::size_t most, const std::string& name);
/// As read_up_to(), appended to `text`. With enough capacity, no second copy of the text is made.
Result<void> append_up_to(int file, std::size_t most, const std::string& name, std::string& text);

/// I/O. False if write(2) failed: errno has the reason.
bool write_fully(int file, std::string_view bytes);

/// I/O. Opens /dev/null in the place of each standard stream that is closed. Without it, the next file or connection
/// would get that number, and the program's own output or input would go there.
void keep_standard_streams_open();

}  // namespace sparkplan
