#include "engine/agent/node/local_node.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <thread>
#include <utility>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/kernel/netlink.h"
#include "engine/agent/node/file_io.h"
#include "engine/agent/node/posix_acl.h"
#include "engine/agent/node/ssh_session.h"
#include "engine/agent/node/systemd_bus.h"
#include "engine/process/child_process.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

constexpr const char* kScratchParent = "/run/sparkplan";
constexpr std::string_view kScratchPrefix = "try-";
constexpr std::size_t kMostNames = 50'000;

CommandOutput as_command_output(CapturedOutput output) {
  return CommandOutput{output.exit_status, std::move(output.standard_output), std::move(output.standard_error)};
}

class RunningChild final : public RunningCommand {
 public:
  RunningChild(ChildProcess child, std::string name, CaptureLimits limits)
      : child_(std::move(child)), name_(std::move(name)), limits_(std::move(limits)) {}

  Result<CommandOutput> wait() override {
    SPARK_TRY(auto output, wait_and_capture(std::move(child_), name_, limits_));
    return as_command_output(std::move(output));
  }

 private:
  ChildProcess child_;
  std::string name_;
  CaptureLimits limits_;
};

tl::unexpected<Error> not_running() { return failure(ErrorCode::kUnsupported, "nothing runs in a directory tree"); }

}  // namespace

Result<LocalNode> LocalNode::open(const fs::path& root) {
  FileDescriptor descriptor(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() < 0) return failure(file_error("open", root));
  return LocalNode(std::move(descriptor), root == "/");
}

LocalNode::LocalNode(LocalNode&& other) noexcept
    : root_(std::move(other.root_)),
      live_(other.live_),
      scratch_(std::exchange(other.scratch_, {})),
      named_scratch_(std::exchange(other.named_scratch_, {})),
      staged_(std::exchange(other.staged_, {})),
      sign_of_life_(std::exchange(other.sign_of_life_, {})) {}

LocalNode::~LocalNode() {
  std::error_code gone_already;
  for (const fs::path& directory : scratch_) fs::remove_all(directory, gone_already);
}

Result<FileDescriptor> LocalNode::open_descriptor(const fs::path& path, int flags, std::uint32_t mode) const {
  return live_ ? user_mounts_.open(path, flags, mode, *this) : open_in_tree(path, flags, mode);
}

/// Opening a device may have unknown side effects, so the kind of file is checked before it is opened.
Result<FileDescriptor> LocalNode::open_in_tree(const fs::path& path, int flags, std::uint32_t mode) const {
  const auto below = path.relative_path();
  const auto open_below = [&](int how_to_open, std::uint32_t new_mode) {
    open_how how{};
    how.flags = static_cast<__u64>(static_cast<unsigned int>(how_to_open | O_CLOEXEC));
    how.mode = new_mode;
    how.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
    return static_cast<int>(::syscall(SYS_openat2, root_.get(), below.empty() ? "." : below.c_str(), &how, sizeof how));
  };
  FileDescriptor descriptor(-1);
  const FileDescriptor there(open_below(O_PATH | (flags & O_NOFOLLOW), 0));
  struct stat status {};
  const bool known = there.get() >= 0 && ::fstat(there.get(), &status) == 0;
  const bool only_look = (static_cast<unsigned int>(flags) & static_cast<unsigned int>(O_PATH)) != 0;
  if (!known || only_look || S_ISLNK(status.st_mode)) {
    descriptor.replace(open_below(flags, mode));
  } else if (!S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode)) {
    return failure(ErrorCode::kUnsupported, path.string() + " is not a regular file");
  } else {
    const auto same = "/proc/self/fd/" + std::to_string(there.get());
    descriptor.replace(::open(same.c_str(), (flags & ~(O_NOFOLLOW | O_CREAT)) | O_CLOEXEC));
  }
  if (descriptor.get() < 0) return failure(file_error("open", path));
  return descriptor;
}

Result<std::string> LocalNode::read_in_place(const fs::path& path, std::size_t max_bytes) const {
  SPARK_TRY(const FileDescriptor file, open_descriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  return read_whole(file.get(), path, max_bytes);
}

Result<void> LocalNode::read_lines(const fs::path& path, const LineLimits& limits,
                                   const std::function<Result<void>(std::string_view)>& take) const {
  SPARK_TRY(const fs::path place, place_of(path));
  SPARK_TRY(const FileDescriptor file, open_descriptor(place, O_RDONLY | O_NONBLOCK | O_NOCTTY));
  return take_lines_of(file.get(), path, limits, take);
}

/// Opening a device may have side effects, so the status of the file comes first. /proc then leads to the same file,
/// whatever another user puts at the path meanwhile.
Result<FileContent> LocalNode::read_regular_file(const fs::path& path, std::size_t max_bytes) const {
  SPARK_TRY(const fs::path place, place_of(path));
  SPARK_TRY(const FileDescriptor there, open_descriptor(place, O_PATH | O_NOFOLLOW));
  SPARK_TRY(const FileStatus status, status_of(there.get(), place));
  if (status.kind != FileStatus::Kind::kRegular)
    return failure(no_regular_file(path, status.kind == FileStatus::Kind::kSymlink));
  const auto same = "/proc/self/fd/" + std::to_string(there.get());
  const FileDescriptor file(::open(same.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.get() < 0) return failure(file_error("open", place));
  SPARK_TRY(std::string bytes, read_whole(file.get(), place, max_bytes));
  return FileContent{std::move(bytes), status.mode, status.uid, status.gid};
}

Result<FileStatus> LocalNode::status_of(int descriptor, const fs::path& path) const {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) return failure(file_error("stat", path));
  FileStatus result;
  result.kind = S_ISREG(status.st_mode)   ? FileStatus::Kind::kRegular
                : S_ISDIR(status.st_mode) ? FileStatus::Kind::kDirectory
                : S_ISLNK(status.st_mode) ? FileStatus::Kind::kSymlink
                                          : FileStatus::Kind::kOther;
  result.mode = status.st_mode & 07777U;
  result.size = status.st_size;
  // A user who builds an image without root owns the files that root would own.
  const bool stands_for_root = !live_ && ::geteuid() != 0 && status.st_uid == ::geteuid();
  result.uid = stands_for_root ? 0 : status.st_uid;
  result.gid = stands_for_root ? 0 : status.st_gid;
  result.device = status.st_dev;
  result.inode = status.st_ino;
  // With an ACL, the group's bits are its mask: without them, no entry of it gives write permission.
  const bool may_have_acl = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode);
  if (may_have_acl && (status.st_mode & S_IWGRP) != 0) result.acl_writer = acl_writer_of(descriptor, status.st_uid);
  result.changed_at_nanos = std::int64_t{status.st_ctim.tv_sec} * 1'000'000'000 + status.st_ctim.tv_nsec;
  return result;
}

Result<FileStatus> LocalNode::status_in_place(const fs::path& path) const {
  SPARK_TRY(const FileDescriptor file, open_descriptor(path, O_PATH | O_NOFOLLOW));
  return status_of(file.get(), path);
}

Result<std::vector<std::string>> LocalNode::list_directory(const fs::path& path) const {
  SPARK_TRY(FileDescriptor opened, open_descriptor(path, O_RDONLY | O_DIRECTORY));
  DIR* directory = ::fdopendir(opened.get());
  if (directory == nullptr) return failure(file_error("list", path));
  static_cast<void>(opened.release());  // closedir() closes it.
  std::vector<std::string> names;
  while (const dirent* entry = ::readdir(directory)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    names.push_back(name);
    if (names.size() > kMostNames) break;
  }
  ::closedir(directory);
  if (names.size() > kMostNames) {
    return failure(ErrorCode::kUnsupported, path.string() + " has more than " + std::to_string(kMostNames) + " names");
  }
  std::sort(names.begin(), names.end());
  if (!staged_.empty()) show_as_staged(path, names);
  return names;
}

std::uint32_t LocalNode::login_user() const { return live_ ? login_user_id() : 0; }

std::string LocalNode::connection_address() const { return live_ ? ssh_server_address() : ""; }

Result<std::vector<LinkFacts>> LocalNode::links() const {
  if (!live_) return failure(ErrorCode::kUnsupported, "a directory tree has no network interfaces");
  if (!links_) return read_links();
  if (links_->empty()) {
    SPARK_TRY(auto links, read_links());
    *links_ = std::move(links);
  }
  return *links_;
}

void LocalNode::pause(std::chrono::milliseconds duration) const {
  if (links_) links_->clear();
  std::this_thread::sleep_for(duration);
}

Result<std::vector<UnitProperties>> LocalNode::units(std::span<const std::string> names,
                                                     std::span<const std::string_view> properties,
                                                     std::chrono::milliseconds deadline) const {
  if (!live_) return not_running();
  auto units = units_by_bus(names, properties, deadline);
  // On kUnreachable, systemctl would wait for the same systemd. After any other failure, systemctl may still succeed.
  if (units || units.error().code == ErrorCode::kUnreachable) return units;
  return units_by_systemctl(names, properties, *this, deadline);
}

Result<CommandOutput> LocalNode::query(std::span<const std::string> argv, std::chrono::milliseconds deadline) const {
  if (!live_) return not_running();
  const CaptureLimits limits{deadline};
  SPARK_TRY(auto output, run_and_capture(argv, limits));
  // The caller would treat this part as the whole output.
  if (output.cut_off) {
    return failure(ErrorCode::kFailed, argv[0] + " prints more than " + std::to_string(limits.max_bytes) + " bytes");
  }
  return as_command_output(std::move(output));
}

Result<CommandOutput> LocalNode::run(std::span<const std::string> argv, std::chrono::milliseconds deadline) {
  if (links_) links_->clear();
  if (!live_) return not_running();
  CaptureLimits limits{deadline};
  limits.sign_of_life = sign_of_life_;
  SPARK_TRY(auto output, run_and_capture(argv, limits));
  return as_command_output(std::move(output));
}

Result<std::unique_ptr<RunningCommand>> LocalNode::start(std::span<const std::string> argv,
                                                         std::chrono::milliseconds deadline) {
  if (links_) links_->clear();
  if (!live_) return not_running();
  SPARK_TRY(auto child, start_to_capture(argv));
  child.close_standard_input();
  CaptureLimits limits{deadline};
  limits.sign_of_life = sign_of_life_;
  return std::make_unique<RunningChild>(std::move(child), argv[0], std::move(limits));
}

Result<void> LocalNode::make_directories(const fs::path& path, std::uint32_t mode) {
  fs::path so_far = "/";
  for (const auto& part : path.relative_path()) {
    SPARK_TRY(const FileDescriptor parent, open_descriptor(so_far, O_RDONLY | O_DIRECTORY));
    so_far /= part;
    const bool last = so_far == path;
    if (::mkdirat(parent.get(), part.c_str(), last ? mode : 0755) != 0) {
      if (errno == EEXIST) continue;
      return failure(file_error("make", so_far));
    }
    // mkdir(2) applies the umask; this function guarantees the mode.
    if (::fchmodat(parent.get(), part.c_str(), last ? mode : 0755, 0) != 0) return failure(file_error("make", so_far));
    if (::fsync(parent.get()) != 0) return failure(file_error("sync", so_far));
  }
  return {};
}

/// Opens the directory of a file. A link in its place leads to foreign files, such as the drop-ins of another unit.
Result<FileDescriptor> LocalNode::open_directory_of(const fs::path& file) const {
  const fs::path directory = file.parent_path();
  auto opened = open_descriptor(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  if (opened || directory == "/") return opened;
  const auto there = status(directory);
  if (!there || there->kind != FileStatus::Kind::kSymlink) return opened;
  return failure(ErrorCode::kRefused,
                 directory.string() + " is a symbolic link, so " + file.string() + " would be elsewhere",
                 "replace it with a directory, then plan again");
}

Result<void> LocalNode::write_in_place(const fs::path& path, const FileContent& content) {
  SPARK_CHECK(make_directories(path.parent_path()));
  SPARK_TRY(const FileDescriptor directory, open_directory_of(path));
  return replace_file_in(directory.get(), path, content);
}

Result<void> LocalNode::remove_in_place(const fs::path& path) {
  SPARK_TRY(const auto directory, if_there(open_directory_of(path)));
  return directory ? remove_file_in(directory->get(), path) : Result<void>();
}

Result<void> LocalNode::rename(const fs::path& from, const fs::path& to) const {
  SPARK_TRY(const FileDescriptor directory, open_descriptor(from.parent_path(), O_RDONLY | O_DIRECTORY));
  if (::renameat(directory.get(), from.filename().c_str(), directory.get(), to.filename().c_str()) != 0) {
    return failure(file_error("rename", from));
  }
  if (::fsync(directory.get()) != 0) return failure(file_error("sync", from.parent_path()));
  return {};
}

Result<void> LocalNode::remove_directory(const fs::path& path) {
  SPARK_TRY(const auto parent, if_there(open_directory_of(path)));
  if (!parent) return {};
  if (::unlinkat(parent->get(), path.filename().c_str(), AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return failure(file_error("remove", path));
}

Result<void> LocalNode::detach_mount(const fs::path& path) {
  if (!live_) return not_running();
  SPARK_TRY(const FileDescriptor parent, open_without_links(path.parent_path()));
  const std::string there = "/proc/self/fd/" + std::to_string(parent.get()) + "/" + path.filename().string();
  if (::umount2(there.c_str(), MNT_DETACH | UMOUNT_NOFOLLOW) == 0) return {};
  Error error = file_error("unmount", path);
  error.code = ErrorCode::kFailed;
  return failure(std::move(error));
}

Result<void> LocalNode::restore_link(const LinkState& state) {
  if (!live_) return failure(ErrorCode::kUnsupported, "a directory tree has no network interfaces");
  return write_link(state);
}

Result<fs::path> LocalNode::make_scratch_directory() {
  if (!live_) return failure(ErrorCode::kUnsupported, "a directory tree runs no program that could test a change");
  const fs::path parent = kScratchParent;
  SPARK_CHECK(make_directories(parent, 0700));
  std::string path = (parent / (std::string(kScratchPrefix) + "XXXXXX")).string();
  if (::mkdtemp(path.data()) == nullptr) return failure(file_error("make", path));
  scratch_.emplace_back(path);
  return scratch_.back();
}

Result<fs::path> LocalNode::scratch_directory(const std::string& name) {
  if (const auto known = named_scratch_.find(name); known != named_scratch_.end()) return known->second;
  SPARK_TRY(const auto path, make_scratch_directory());
  named_scratch_.emplace(name, path);
  return path;
}

void LocalNode::remove_stale_scratch_directories() {
  if (!live_) return;
  const auto names = list_directory(kScratchParent);
  if (!names) return;      // No scratch directory has ever been made.
  named_scratch_.clear();  // The list below contains ours too.
  for (const std::string& name : *names) {
    std::error_code stays;  // A remaining directory does no harm: the next run removes it.
    if (name.starts_with(kScratchPrefix)) fs::remove_all(fs::path(kScratchParent) / name, stays);
  }
}

Result<void> LocalNode::write_kernel_file(const fs::path& path, std::string_view content) {
  if (!live_) return failure(ErrorCode::kUnsupported, "a directory tree has no kernel");
  SPARK_TRY(const FileDescriptor file, open_descriptor(path, O_WRONLY));
  // One write(2): the kernel takes each write as a separate value.
  const auto count = ::write(file.get(), content.data(), content.size());
  if (count != static_cast<ssize_t>(content.size())) return failure(file_error("write", path));
  return {};
}

}  // namespace sparkplan
