#include "engine/agent/node/whole_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "engine/agent/kernel/file_descriptor.h"

namespace sparkplan {
namespace {

tl::unexpected<Error> too_large(const std::filesystem::path& path, std::size_t max_bytes) {
  return failure(ErrorCode::kUnsupported, path.string() + " has more than " + std::to_string(max_bytes) + " bytes");
}

}  // namespace

Result<std::string> read_whole(int file, const std::filesystem::path& path, std::size_t max_bytes) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return failure(file_error("look at", path));
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kUnsupported, path.string() + " is no regular file");
  // Files of the kernel's say 0, whatever is in them.
  const auto size = static_cast<std::size_t>(status.st_size);
  if (size > max_bytes) return too_large(path, max_bytes);
  std::string text;
  text.reserve(size);
  std::array<char, 16384> buffer{};
  while (true) {
    const auto count = ::read(file, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(file_error("read", path));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > max_bytes) return too_large(path, max_bytes);
  }
}

}  // namespace sparkplan
