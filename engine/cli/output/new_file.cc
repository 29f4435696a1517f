#include "engine/cli/output/new_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "engine/core/file_descriptor.h"

namespace sparkplan {
namespace {

mode_t usual_mode() {
  const mode_t mask = ::umask(0);
  ::umask(mask);
  return 0666 & ~mask;
}

/// The mode of the replaced file: a file that was closed to other users stays closed. If another user made it, it gets
/// no more than the usual mode: that user may have left it open to all.
mode_t mode_for(const std::string& path, bool replace) {
  struct stat status {};
  const bool there = replace && ::stat(path.c_str(), &status) == 0;
  if (!there) return usual_mode();
  return status.st_mode & (status.st_uid == ::geteuid() ? 0777 : usual_mode());
}

}  // namespace

Result<void> write_all(int file, std::string_view text, const std::string& path) {
  if (!write_fully(file, text) || ::fsync(file) != 0) return failure(system_error("write " + path, errno));
  return {};
}

Result<void> write_new_file(const std::string& path, std::string_view text, bool replace, std::optional<mode_t> mode) {
  return write_new_file(
      path, [&](int file) { return write_all(file, text, path); }, replace, mode);
}

Result<void> write_new_file(const std::string& path, const std::function<Result<void>(int file)>& write, bool replace,
                            std::optional<mode_t> mode) {
  const auto directory = std::filesystem::path(path).parent_path();
  std::string draft = (directory / ("." + std::filesystem::path(path).filename().string() + ".XXXXXX")).string();
  const int file = ::mkostemp(draft.data(), O_CLOEXEC);
  if (file < 0) return failure(system_error("write " + path, errno));
  ::fchmod(file, mode.value_or(mode_for(path, replace)));
  auto written = write(file);
  ::close(file);
  // link() fails if the file exists; rename() does not.
  const auto put = [&] {
    return replace ? ::rename(draft.c_str(), path.c_str()) : ::link(draft.c_str(), path.c_str());
  };
  if (written && put() != 0) written = failure(system_error("write " + path, errno));
  if (!written || !replace) ::unlink(draft.c_str());
  return written;
}

}  // namespace sparkplan
