#include "engine/load/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

namespace sparkplan {

Result<std::string> read_regular_file(const std::string& path, std::size_t longest) {
  // O_NONBLOCK: opening a FIFO must not wait for a writer.
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return failure(system_error("open " + path, errno));
  struct Closer {
    int descriptor;
    ~Closer() { close(descriptor); }
  } const closer{file};
  struct stat status {};
  if (fstat(file, &status) != 0) return failure(system_error("stat " + path, errno));
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kUnsupported, path + " is not a regular file");
  std::string text;
  std::array<char, 65536> buffer{};
  while (text.size() < longest) {
    const ssize_t count = read(file, buffer.data(), std::min(buffer.size(), longest - text.size()));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(system_error("read " + path, errno));
    if (count == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  return text;
}

}  // namespace sparkplan
