#include "engine/agent/node/file_io.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <string>

#include "engine/agent/kernel/file_descriptor.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

/// Removes a temporary file, unless it was renamed into place.
class TemporaryFile {
 public:
  TemporaryFile(int directory, std::string name) : directory_(directory), name_(std::move(name)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!name_.empty()) ::unlinkat(directory_, name_.c_str(), 0);
  }
  const char* name() const { return name_.c_str(); }
  void keep() { name_.clear(); }

 private:
  int directory_;
  std::string name_;
};

/// Opens a name of the directory. It follows no link. An emulator such as qemu-user has no openat2(2), so only a
/// refusal of mounts needs it.
int open_name(int directory, const std::string& name, int flags, std::uint32_t mode, Mounts mounts) {
  const int all_flags = flags | O_NOFOLLOW | O_CLOEXEC;
  if (mounts == Mounts::kEntered) return ::openat(directory, name.c_str(), all_flags, mode);
  open_how how{};
  how.flags = static_cast<__u64>(static_cast<unsigned int>(all_flags));
  how.mode = mode;
  how.resolve = RESOLVE_NO_XDEV;
  return static_cast<int>(::syscall(SYS_openat2, directory, name.c_str(), &how, sizeof how));
}

/// A symbolic link or directory in place of our file is the administrator's decision.
Result<void> refuse_what_is_no_file(int directory, const std::string& name, const fs::path& path, Mounts mounts) {
  const FileDescriptor there(open_name(directory, name, O_PATH, 0, mounts));
  if (there.get() < 0) return errno == ENOENT ? Result<void>() : failure(file_error("stat", path));
  // Something may be mounted on the file. The kernel knows the kind of file without its server.
  struct statx status {};
  if (::statx(there.get(), "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &status) != 0) {
    return failure(file_error("stat", path));
  }
  if (S_ISREG(status.stx_mode)) return {};
  return failure(ErrorCode::kRefused,
                 path.string() + " is " + (S_ISLNK(status.stx_mode) ? "a symbolic link" : "not a regular file"),
                 "move it away, then plan again");
}

tl::unexpected<Error> too_large(const std::filesystem::path& path, std::size_t max_bytes) {
  return failure(ErrorCode::kUnsupported, path.string() + " has more than " + std::to_string(max_bytes) + " bytes");
}

}  // namespace

Result<std::string> read_whole(int file, const std::filesystem::path& path, std::size_t max_bytes) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return failure(file_error("stat", path));
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kUnsupported, path.string() + " is not a regular file");
  // Files of the kernel report a size of 0, whatever they contain.
  if (static_cast<std::size_t>(status.st_size) > max_bytes) return too_large(path, max_bytes);
  SPARK_TRY(auto text, read_up_to(file, max_bytes + 1, path.string()));
  if (text.size() > max_bytes) return too_large(path, max_bytes);
  return text;
}

Result<void> take_lines_of(int file, const fs::path& path, const NodeReader::LineLimits& limits,
                           const std::function<Result<void>(std::string_view)>& take) {
  constexpr std::size_t kPiece = std::size_t{64} << 10;
  struct stat status {};
  if (::fstat(file, &status) != 0) return failure(file_error("stat", path));
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kUnsupported, path.string() + " is not a regular file");
  std::string line;
  bool too_long = false;
  const auto add = [&](std::string_view text) {
    too_long = too_long || text.size() > limits.line - line.size();
    if (too_long) {
      line.clear();
    } else {
      line += text;
    }
  };
  std::size_t bytes = 0;
  for (;;) {
    SPARK_TRY(const std::string piece, read_up_to(file, kPiece, path.string()));
    if (piece.empty()) break;
    bytes += piece.size();
    if (bytes > limits.all) return too_large(path, limits.all);
    std::string_view rest = piece;
    for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
      add(rest.substr(0, end));
      if (!too_long) SPARK_CHECK(take(line));
      line.clear();
      too_long = false;
      rest.remove_prefix(end + 1);
    }
    add(rest);
  }
  return line.empty() ? Result<void>() : take(line);
}

std::string temporary_name(const std::string& name) { return "." + name + ".sparkplan-new"; }
std::string trial_name(const std::string& name) { return "." + name + ".sparkplan-trial"; }

Result<void> replace_file_in(int directory, const fs::path& path, const FileContent& content, Mounts mounts) {
  const auto name = path.filename().string();
  SPARK_CHECK(refuse_what_is_no_file(directory, name, path, mounts));
  TemporaryFile temporary(directory, temporary_name(name));
  ::unlinkat(directory, temporary.name(), 0);
  const FileDescriptor file(open_name(directory, temporary.name(), O_WRONLY | O_CREAT | O_EXCL, 0600, mounts));
  if (file.get() < 0) return failure(file_error("write", path));
  if (!write_fully(file.get(), content.bytes)) return failure(file_error("write", path));
  if (::geteuid() == 0 && ::fchown(file.get(), content.uid, content.gid) != 0) {
    return failure(file_error("chown", path));
  }
  if (::fchmod(file.get(), content.mode) != 0) return failure(file_error("chmod", path));
  if (::fsync(file.get()) != 0) return failure(file_error("sync", path));
  if (::renameat(directory, temporary.name(), directory, name.c_str()) != 0) return failure(file_error("write", path));
  temporary.keep();
  if (::fsync(directory) != 0) return failure(file_error("sync the directory of", path));
  return {};
}

Result<void> remove_file_in(int directory, const fs::path& path) {
  if (::unlinkat(directory, path.filename().c_str(), 0) != 0 && errno != ENOENT) {
    return failure(file_error("remove", path));
  }
  if (::fsync(directory) != 0) return failure(file_error("sync the directory of", path));
  return {};
}

}  // namespace sparkplan
