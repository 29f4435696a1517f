#include "engine/core/file_descriptor.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sparkplan {

Result<std::string> read_up_to(int file, std::size_t most, const std::string& name) {
  std::string text;
  SPARK_CHECK(append_up_to(file, most, name, text));
  return text;
}

Result<void> append_up_to(int file, std::size_t most, const std::string& name, std::string& text) {
  std::array<char, 65536> buffer{};
  while (most > 0) {
    const auto count = ::read(file, buffer.data(), std::min(buffer.size(), most));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(system_error("read " + name, errno));
    if (count == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    most -= static_cast<std::size_t>(count);
  }
  return {};
}

bool write_fully(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const auto count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return true;
}

void keep_standard_streams_open() {
  // A new descriptor has the lowest number that is free.
  int number = STDIN_FILENO;
  while (number >= STDIN_FILENO && number <= STDERR_FILENO) number = ::open("/dev/null", O_RDWR);
  if (number > STDERR_FILENO) ::close(number);
}

}  // namespace sparkplan
