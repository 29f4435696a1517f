#include "engine/agent/local_node.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "engine/process/child_process.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  int get() const { return number_; }

 private:
  int number_;
};

Error file_error(const std::string& verb, const fs::path& path) {
  return system_error(verb + " " + path.string(), errno);
}

Result<void> write_fully(int file, std::string_view bytes, const fs::path& path) {
  while (!bytes.empty()) {
    const auto count = ::write(file, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(file_error("write", path));
    bytes.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

/// Removes a temporary file unless it was renamed into place.
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

Result<CommandOutput> capture(std::span<const std::string> argv, std::chrono::milliseconds deadline) {
  SPARK_TRY(auto output, run_and_capture(argv, CaptureLimits{deadline}));
  return CommandOutput{output.exit_status, std::move(output.standard_output), std::move(output.standard_error)};
}

tl::unexpected<Error> not_running() { return failure(ErrorCode::kUnsupported, "nothing runs in a directory tree"); }

/// A symbolic link or directory where a file of ours belongs is somebody's decision.
Result<void> refuse_what_is_no_file(int directory, const std::string& name, const fs::path& path) {
  struct stat status {};
  if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
    return errno == ENOENT ? Result<void>() : failure(file_error("look at", path));
  }
  if (S_ISREG(status.st_mode)) return {};
  return failure(ErrorCode::kRefused,
                 path.string() + " is " + (S_ISLNK(status.st_mode) ? "a symbolic link" : "no regular file"),
                 "move it away, then plan again");
}

}  // namespace

Result<LocalNode> LocalNode::open(const fs::path& root) {
  const int descriptor = ::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return failure(file_error("open", root));
  return LocalNode(descriptor, root == "/");
}

LocalNode::LocalNode(LocalNode&& other) noexcept : root_(std::exchange(other.root_, -1)), live_(other.live_) {}

LocalNode::~LocalNode() {
  if (root_ >= 0) ::close(root_);
}

Result<int> LocalNode::open_descriptor(const fs::path& path, int flags, std::uint32_t mode) const {
  int descriptor = -1;
  if (live_) {
    descriptor = ::open(path.c_str(), flags | O_CLOEXEC, mode);
  } else {
    open_how how{};
    how.flags = static_cast<__u64>(static_cast<unsigned int>(flags | O_CLOEXEC));
    how.mode = mode;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    const auto below = path.relative_path();
    descriptor = static_cast<int>(::syscall(SYS_openat2, root_, below.empty() ? "." : below.c_str(), &how, sizeof how));
  }
  if (descriptor < 0) return failure(file_error("open", path));
  return descriptor;
}

Result<std::string> LocalNode::read_file(const fs::path& path, std::size_t max_bytes) const {
  SPARK_TRY(const int number, open_descriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  const Descriptor file(number);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure(file_error("look at", path));
  if (!S_ISREG(status.st_mode)) return failure(ErrorCode::kUnsupported, path.string() + " is no regular file");
  std::string text;
  std::array<char, 16384> buffer{};
  while (true) {
    const auto count = ::read(file.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failure(file_error("read", path));
    if (count == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(count));
    if (text.size() > max_bytes) {
      return failure(ErrorCode::kUnsupported, path.string() + " has more than " + std::to_string(max_bytes) + " bytes");
    }
  }
}

Result<FileStatus> LocalNode::status(const fs::path& path) const {
  SPARK_TRY(const int number, open_descriptor(path, O_PATH | O_NOFOLLOW));
  const Descriptor file(number);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure(file_error("look at", path));
  FileStatus result;
  result.kind = S_ISREG(status.st_mode)   ? FileStatus::Kind::kRegular
                : S_ISDIR(status.st_mode) ? FileStatus::Kind::kDirectory
                : S_ISLNK(status.st_mode) ? FileStatus::Kind::kSymlink
                                          : FileStatus::Kind::kOther;
  result.mode = status.st_mode & 07777U;
  result.size = status.st_size;
  // Whoever bakes an image without being root owns its files in root's stead.
  const bool stands_for_root = !live_ && ::geteuid() != 0 && status.st_uid == ::geteuid();
  result.uid = stands_for_root ? 0 : status.st_uid;
  result.gid = stands_for_root ? 0 : status.st_gid;
  return result;
}

Result<std::vector<std::string>> LocalNode::list_directory(const fs::path& path) const {
  SPARK_TRY(const int number, open_descriptor(path, O_RDONLY | O_DIRECTORY));
  DIR* directory = ::fdopendir(number);
  if (directory == nullptr) {
    ::close(number);
    return failure(file_error("list", path));
  }
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    if (name != "." && name != "..") names.push_back(name);
  }
  ::closedir(directory);
  std::sort(names.begin(), names.end());
  return names;
}

Result<CommandOutput> LocalNode::query(std::span<const std::string> argv, std::chrono::milliseconds deadline) const {
  return live_ ? capture(argv, deadline) : not_running();
}

Result<CommandOutput> LocalNode::run(std::span<const std::string> argv, std::chrono::milliseconds deadline) {
  return live_ ? capture(argv, deadline) : not_running();
}

Result<void> LocalNode::make_directories(const fs::path& path, std::uint32_t mode) {
  fs::path so_far = "/";
  for (const auto& part : path.relative_path()) {
    SPARK_TRY(const int number, open_descriptor(so_far, O_RDONLY | O_DIRECTORY));
    const Descriptor parent(number);
    so_far /= part;
    const bool last = so_far == path;
    if (::mkdirat(parent.get(), part.c_str(), last ? mode : 0755) != 0) {
      if (errno == EEXIST) continue;
      return failure(file_error("make", so_far));
    }
    // mkdir(2) obeys the umask, the promise does not.
    if (::fchmodat(parent.get(), part.c_str(), last ? mode : 0755, 0) != 0) return failure(file_error("make", so_far));
    if (::fsync(parent.get()) != 0) return failure(file_error("sync", so_far));
  }
  return {};
}

Result<void> LocalNode::write_file(const fs::path& path, const FileContent& content) {
  SPARK_CHECK(make_directories(path.parent_path()));
  SPARK_TRY(const int number, open_descriptor(path.parent_path(), O_RDONLY | O_DIRECTORY));
  const Descriptor directory(number);
  const auto name = path.filename().string();
  SPARK_CHECK(refuse_what_is_no_file(directory.get(), name, path));
  // A fixed name, so that the next write clears away what a killed agent left. Tools that read
  // drop-in directories pass over it: it begins with a dot and has no suffix of theirs.
  TemporaryFile temporary(directory.get(), "." + name + ".sparkplan-new");
  ::unlinkat(directory.get(), temporary.name(), 0);
  const Descriptor file(
      ::openat(directory.get(), temporary.name(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (file.get() < 0) return failure(file_error("write", path));
  SPARK_CHECK(write_fully(file.get(), content.bytes, path));
  if (::geteuid() == 0 && ::fchown(file.get(), content.uid, content.gid) != 0)
    return failure(file_error("chown", path));
  if (::fchmod(file.get(), content.mode) != 0) return failure(file_error("chmod", path));
  if (::fsync(file.get()) != 0) return failure(file_error("sync", path));
  if (::renameat(directory.get(), temporary.name(), directory.get(), name.c_str()) != 0) {
    return failure(file_error("write", path));
  }
  temporary.keep();
  if (::fsync(directory.get()) != 0) return failure(file_error("sync the directory of", path));
  return {};
}

Result<void> LocalNode::remove_file(const fs::path& path) {
  auto number = open_descriptor(path.parent_path(), O_RDONLY | O_DIRECTORY);
  if (!number) {
    if (number.error().code == ErrorCode::kNotFound) return {};
    return failure(std::move(number).error());
  }
  const Descriptor directory(*number);
  if (::unlinkat(directory.get(), path.filename().c_str(), 0) != 0 && errno != ENOENT) {
    return failure(file_error("remove", path));
  }
  if (::fsync(directory.get()) != 0) return failure(file_error("sync the directory of", path));
  return {};
}

Result<void> LocalNode::write_kernel_file(const fs::path& path, std::string_view content) {
  if (!live_) return failure(ErrorCode::kUnsupported, "a directory tree has no kernel");
  SPARK_TRY(const int number, open_descriptor(path, O_WRONLY));
  const Descriptor file(number);
  // One write(2): the kernel takes each as a value of its own.
  const auto count = ::write(file.get(), content.data(), content.size());
  if (count != static_cast<ssize_t>(content.size())) return failure(file_error("write", path));
  return {};
}

}  // namespace sparkplan
