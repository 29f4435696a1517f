#include "engine/agent/node/user_mounts.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/agent/node/file_io.h"
#include "engine/core/text.h"
#include "engine/node/mount_table.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTable = "/proc/self/mountinfo";
/// As many as the kernel follows.
constexpr int kMostLinks = 40;

/// The kernel makes these files itself. Some of their links are none: "/proc/1/exe" shows a name, and leads to a file.
bool is_of_kernel(const fs::path& path) {
  return is_within(path.native(), "/proc") || is_within(path.native(), "/sys");
}

/// Zero if the kernel does not tell. AT_STATX_DONT_SYNC: no server is asked.
Result<std::uint64_t> mount_of(int descriptor, const fs::path& path) {
  struct statx status {};
  if (::statx(descriptor, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &status) != 0) {
    return failure(file_error("stat", path));
  }
  return (status.stx_mask & STATX_MNT_ID) != 0 ? std::uint64_t{status.stx_mnt_id} : 0;
}

Error in_mount_of_user(const fs::path& path, const MountedFileSystem* mount) {
  const std::string where =
      mount == nullptr ? "that has just come or gone"
                       : "that a user has mounted at " + printable(mount->target) + " (" + printable(mount->type) + ")";
  return make_error(ErrorCode::kRefused, path.string() + " is in a file system " + where,
                    mount == nullptr ? "look for it with `findmnt`, then plan again"
                                     : "unmount it: sparkplan enters no file system of a user, whose program may never "
                                       "answer");
}

std::optional<fs::path> link_at(int descriptor) {
  std::array<char, PATH_MAX> target{};
  const ssize_t size = ::readlinkat(descriptor, "", target.data(), target.size());
  if (size <= 0) return std::nullopt;
  return fs::path(std::string(target.data(), static_cast<std::size_t>(size)));
}

bool has(int flags, int flag) { return (static_cast<unsigned int>(flags) & static_cast<unsigned int>(flag)) != 0; }

/// A walk along a path, name by name. The kernel alone would go to its end, through all mounts.
class Walk {
 public:
  using Check = std::function<Result<void>(std::uint64_t mount)>;
  Walk(const fs::path& path, int flags, Check check) : path_(path), flags_(flags), check_(std::move(check)) {
    go_on_to(path);
  }

  /// Opens the end of the path with O_PATH. Errors: those of open(2) and of `check`.
  Result<FileDescriptor> to_end() {
    SPARK_CHECK(begin());
    while (!names_.empty()) SPARK_CHECK(step());
    return std::move(here_);
  }
  /// After kNotFound: makes the last name, if all others are there. Errors: those of open(2).
  Result<FileDescriptor> make_end(std::uint32_t mode) {
    if (!names_.empty()) return failure(system_error("open " + path_.string(), ENOENT));
    FileDescriptor made(::openat(here_.get(), last_name_.c_str(), flags_ | O_NOFOLLOW | O_CLOEXEC, mode));
    if (made.get() < 0) return failure(file_error("open", path_));
    return made;
  }

 private:
  Result<void> begin() {
    here_.replace(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (here_.get() < 0) return failure(file_error("open", path_));
    SPARK_TRY(root_mount_, mount_of(here_.get(), path_));
    mount_ = root_mount_;
    return {};
  }

  void go_on_to(const fs::path& path) {
    std::vector<std::string> names;
    for (const fs::path& name : path.relative_path()) {
      if (!name.empty() && name != ".") names.push_back(name.string());
    }
    if (names_.empty() && !names.empty()) last_name_ = names.back();
    names_.insert(names_.end(), names.rbegin(), names.rend());
  }

  /// All links but the last name's, if the flags of open(2) exclude that one.
  bool follows_links() const { return !names_.empty() || !(has(flags_, O_NOFOLLOW) || has(flags_, O_EXCL)); }

  /// As the kernel with fs.protected_symlinks: at the end of the path, another user's link in a directory such as /tmp
  /// is not followed. Source: may_follow_link() of fs/namei.c.
  Result<void> check_link(int link) const {
    struct stat directory {};
    struct stat status {};
    if (::fstat(here_.get(), &directory) != 0 || ::fstat(link, &status) != 0) return failure(file_error("stat", path_));
    constexpr mode_t kShared = S_ISVTX | S_IWOTH;
    const bool is_shared = (directory.st_mode & kShared) == kShared;
    if (!is_shared || status.st_uid == ::geteuid() || status.st_uid == directory.st_uid) return {};
    return failure(system_error("open " + path_.string(), EACCES));
  }

  /// One name further, or to where a link leads.
  Result<void> step() {
    const std::string name = std::move(names_.back());
    names_.pop_back();
    SPARK_TRY(FileDescriptor next, look_at(name));
    SPARK_TRY(const std::uint64_t mount, mount_of(next.get(), path_));
    if (mount != mount_ && mount != root_mount_) SPARK_CHECK(check_(mount));
    const std::optional<fs::path> target = follows_links() ? link_at(next.get()) : std::nullopt;
    if (!target) {
      mount_ = mount;
      here_ = std::move(next);
      return {};
    }
    if (names_.empty()) SPARK_CHECK(check_link(next.get()));
    if (++links_ > kMostLinks) return failure(system_error("open " + path_.string(), ELOOP));
    go_on_to(*target);
    return target->is_absolute() ? begin() : Result<void>();
  }

  /// With O_DIRECTORY, an automounter mounts what belongs there. The kernel asks it at the same places.
  Result<FileDescriptor> look_at(const std::string& name) const {
    constexpr int kLook = O_PATH | O_NOFOLLOW | O_CLOEXEC;
    const bool directory = !names_.empty() || has(flags_, O_DIRECTORY);
    FileDescriptor found(::openat(here_.get(), name.c_str(), directory ? kLook | O_DIRECTORY : kLook));
    if (found.get() < 0 && directory && errno == ENOTDIR && follows_links()) {
      found.replace(::openat(here_.get(), name.c_str(), kLook));
      if (found.get() >= 0 && !link_at(found.get())) return failure(system_error("open " + path_.string(), ENOTDIR));
    }
    if (found.get() < 0) return failure(file_error("open", path_));
    return found;
  }

  fs::path path_;
  int flags_;
  Check check_;
  FileDescriptor here_;
  std::uint64_t root_mount_ = 0;
  std::uint64_t mount_ = 0;         // That of here_.
  std::vector<std::string> names_;  // From the last one to the next.
  std::string last_name_;
  int links_ = 0;
};

}  // namespace

Result<FileDescriptor> UserMounts::open(const fs::path& path, int flags, std::uint32_t mode, const NodeReader& node) {
  FileDescriptor opened;
  if (!path.is_absolute() || is_of_kernel(path)) {
    opened.replace(::open(path.c_str(), flags | O_CLOEXEC, mode));
  } else {
    Walk walk(path, flags, [&](std::uint64_t id) { return check_mount(id, path, node); });
    auto end = walk.to_end();
    if (!end) {
      const bool is_new = has(flags, O_CREAT) && end.error().code == ErrorCode::kNotFound;
      return is_new ? walk.make_end(mode) : std::move(end);
    }
    if (has(flags, O_PATH)) return end;
    if (has(flags, O_CREAT) && has(flags, O_EXCL)) return failure(system_error("open " + path.string(), EEXIST));
    const auto same = "/proc/self/fd/" + std::to_string(end->get());
    opened.replace(::open(same.c_str(), (flags & ~(O_NOFOLLOW | O_CREAT)) | O_CLOEXEC));
  }
  if (opened.get() < 0) return failure(file_error("open", path));
  return opened;
}

/// The file is open, so its mount keeps its id. A mount that has come since the table was read has changed the table.
Result<void> UserMounts::check_mount(std::uint64_t id, const fs::path& path, const NodeReader& node) {
  if (table_has_changed()) others_.clear();
  if (others_.contains(id)) return {};
  // Users can make the table long, but their mounts come after those of the system.
  std::optional<MountedFileSystem> found;
  auto read = node.read_lines(kTable, {}, [&](std::string_view line) -> Result<void> {
    for (MountedFileSystem& mount : parse_mountinfo(line)) {
      if (!mount.made_by_a_user()) others_.insert(mount.id);
      if (mount.id == id) found = std::move(mount);
    }
    return found ? failure(ErrorCode::kFailed, "the rest is not needed") : Result<void>();
  });
  if (others_.contains(id)) return {};
  if (!read && !found) return read;
  return failure(in_mount_of_user(path, found ? &*found : nullptr));
}

/// Source: proc(5), mountinfo: poll(2) reports each change once, as POLLERR and POLLPRI.
bool UserMounts::table_has_changed() {
  if (!table_.valid()) table_.replace(::open(kTable, O_RDONLY | O_CLOEXEC));
  pollfd table{table_.get(), POLLPRI, 0};
  return !table_.valid() || ::poll(&table, 1, 0) != 0;
}

}  // namespace sparkplan
