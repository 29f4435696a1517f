// Files in home directories, and directories below those of a user: the owner can replace any part by a link or another
// directory, also between two of our calls.
#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/file_io.h"
#include "engine/agent/node/local_node.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

constexpr std::uint32_t kModeOfNewDirectory = 0700;
constexpr std::chrono::seconds kLongestLook{10};
constexpr std::chrono::seconds kLongestChange{30};
/// In place of UserPath::served_by, once an access has met a mount. Its user may have made it a moment ago, and have
/// chosen its name.
constexpr const char* kMountOnTheWay = "another file system, or has one mounted in it";

tl::unexpected<Error> link_in_the_way(const fs::path& path) {
  return failure(ErrorCode::kRefused, "a symbolic link or a non-directory is in the path " + path.string(),
                 "replace it: sparkplan follows no links of users, who could point them anywhere");
}

tl::unexpected<Error> another_directory(const UserPath& file) {
  return failure(ErrorCode::kStalePlan,
                 file.path().parent_path().string() + " is no longer the directory that was checked",
                 "find out what replaces it while sparkplan writes there, then plan again");
}

Error is_silent(const UserPath& path) {
  return make_error(ErrorCode::kUnreachable,
                    path.home.string() + " is on " + path.served_by + ", which does not answer",
                    "check its server, unmount it, or move the home of that user");
}

Error is_silent_inside(const UserPath& path) {
  return make_error(ErrorCode::kUnreachable,
                    path.home.string() + " is on " + path.served_by +
                        ", which answers, but a file or a directory in this home does not",
                    "look for a file system that is mounted in this home, and unmount it");
}

/// A user can mount a file system of their own, such as FUSE, on each directory and file in their home. This process
/// enters none: it would wait for its server, and nothing could end that wait. A separate process may.
Mounts mounts_on(const UserPath& path) { return path.served_by.empty() ? Mounts::kRefused : Mounts::kEntered; }

/// Another path in the same home.
UserPath beside(const UserPath& path, fs::path below) {
  return {path.home, std::move(below), {}, path.served_by, path.shared_mount};
}

/// Opens a path below an open directory. It follows no link and never leaves the directory.
Result<FileDescriptor> open_beneath(int directory, const fs::path& relative, int flags, const fs::path& whole,
                                    Mounts mounts) {
  open_how how{};
  how.flags = static_cast<__u64>(static_cast<unsigned int>(flags | O_CLOEXEC | O_NOFOLLOW));
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS;
  if (mounts == Mounts::kRefused) how.resolve |= RESOLVE_NO_XDEV;
  const auto descriptor = static_cast<int>(::syscall(SYS_openat2, directory, relative.c_str(), &how, sizeof how));
  if (descriptor >= 0) return FileDescriptor(descriptor);
  // A link in place of a directory is ENOTDIR, like any other file that is not a directory.
  if (errno != ELOOP && errno != ENOTDIR) return failure(file_error("open", whole));
  return link_in_the_way(whole);
}

/// True for a directory that we have just made. The home's owner can replace it at once by another directory, whose
/// ownership must not change.
bool is_new_and_ours(int directory) {
  struct stat status {};
  if (::fstat(directory, &status) != 0 || status.st_uid != ::geteuid()) return false;
  if ((status.st_mode & 0777U) != kModeOfNewDirectory) return false;
  const int copy = ::fcntl(directory, F_DUPFD_CLOEXEC, 0);
  DIR* listing = copy < 0 ? nullptr : ::fdopendir(copy);
  if (listing == nullptr) {
    if (copy >= 0) ::close(copy);
    return false;
  }
  int entries = 0;
  while (::readdir(listing) != nullptr) ++entries;
  ::closedir(listing);
  return entries == 2;  // The entries are "." and "..".
}

/// False if the directory exists; it stays unchanged.
Result<bool> make_directory(int parent, const UserPath& directory) {
  if (::mkdirat(parent, directory.below.filename().c_str(), kModeOfNewDirectory) != 0) {
    if (errno == EEXIST) return false;
    return failure(file_error("make", directory.path()));
  }
  if (::fsync(parent) != 0) return failure(file_error("sync", directory.path()));
  return true;
}

Result<void> give_new_directory(int directory, const UserPath& file, const FileContent& owner) {
  if (!is_new_and_ours(directory)) return another_directory(file);
  // A directory passes its set-group-ID bit on to new directories in it.
  if (::fchmod(directory, kModeOfNewDirectory) != 0) return failure(file_error("make", file.path().parent_path()));
  if (::geteuid() == 0 && ::fchown(directory, owner.uid, owner.gid) != 0) {
    return failure(file_error("chown", file.path().parent_path()));
  }
  return {};
}

}  // namespace

Result<FileDescriptor> LocalNode::open_without_links(const fs::path& directory) const {
  const fs::path below = directory.relative_path();
  return open_beneath(root_.get(), below.empty() ? fs::path(".") : below, O_PATH | O_DIRECTORY, directory,
                      Mounts::kEntered);
}

/// The agent's umask keeps the mode: chmod(2) could change a file that the owner of the directory puts there.
Result<void> LocalNode::make_empty_directory(const fs::path& path) {
  SPARK_TRY(const FileDescriptor parent, open_without_links(path.parent_path()));
  if (::mkdirat(parent.get(), path.filename().c_str(), 0755) == 0) return {};
  return failure(file_error("make", path));
}

Result<void> LocalNode::remove_empty_directory(const fs::path& path) {
  SPARK_TRY(const FileDescriptor parent, open_without_links(path.parent_path()));
  if (::unlinkat(parent.get(), path.filename().c_str(), AT_REMOVEDIR) == 0) return {};
  return failure(file_error("remove", path));
}

/// The directory belongs to root, so its links are followed.
Result<FileDescriptor> LocalNode::open_above(const UserPath& path) const {
  const fs::path directory = path.home.parent_path();
  if (mounts_on(path) == Mounts::kEntered) return open_descriptor(directory, O_PATH | O_DIRECTORY);
  const fs::path below = directory.relative_path();
  open_how how{};
  how.flags = static_cast<__u64>(static_cast<unsigned int>(O_PATH | O_DIRECTORY | O_CLOEXEC));
  how.resolve = RESOLVE_NO_XDEV;
  if (!live_) how.resolve |= RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS;
  FileDescriptor descriptor(
      static_cast<int>(::syscall(SYS_openat2, root_.get(), below.empty() ? "." : below.c_str(), &how, sizeof how)));
  if (descriptor.get() < 0) return failure(file_error("open", directory));
  return descriptor;
}

Result<FileDescriptor> LocalNode::open_in_home(const UserPath& path, int flags) const {
  const auto whole = path.path();
  if (!path.home.is_absolute() || path.home == "/" || path.home.filename().empty()) {
    return failure(ErrorCode::kInvalidInput, "\"" + path.home.string() + "\" is not a home directory");
  }
  // A path with ".." may be below the home's parent but outside the home.
  if (path.below.is_absolute() || std::find(path.below.begin(), path.below.end(), "..") != path.below.end()) {
    return failure(ErrorCode::kInvalidInput, whole.string() + " is not in " + path.home.string());
  }
  SPARK_TRY(const FileDescriptor above, open_above(path));
  const auto below = path.home.filename() / path.below;
  return open_beneath(above.get(), path.below.empty() ? path.home.filename() : below, flags, whole, mounts_on(path));
}

/// Checks that the open directory is the one that was checked for the file.
Result<void> LocalNode::check_is_the_same(int directory, const UserPath& file) const {
  if (!file.checked) return {};
  if (!file.checked->status) return another_directory(file);  // The directory did not exist.
  SPARK_TRY(const FileStatus now, status_of(directory, file.path().parent_path()));
  const FileStatus& then = *file.checked->status;
  const bool same = now.device == then.device && now.inode == then.inode && now.uid == then.uid &&
                    now.gid == then.gid && now.mode == then.mode;
  return same ? Result<void>() : another_directory(file);
}

Result<FileDescriptor> LocalNode::open_checked_directory_of(const UserPath& file, int flags) const {
  SPARK_TRY(FileDescriptor directory, open_in_home(beside(file, file.below.parent_path()), flags | O_DIRECTORY));
  SPARK_CHECK(check_is_the_same(directory.get(), file));
  return directory;
}

Result<FileDescriptor> LocalNode::open_user_file(const UserPath& path, int flags) const {
  if (!path.checked || path.below.empty()) return open_in_home(path, flags);
  SPARK_TRY(const FileDescriptor directory, open_checked_directory_of(path, O_PATH));
  return open_beneath(directory.get(), path.below.filename(), flags, path.path(), mounts_on(path));
}

/// Each access that may wait for a server is made by another process. The repetition is safe: an access that meets a
/// mount has changed nothing but to make directories on the way, and the other process makes all checks again.
Result<HomeAnswer> LocalNode::access_home(const UserPath& path, std::chrono::milliseconds deadline,
                                          const HomeAccess& access) const {
  if (!path.served_by.empty()) return access_separately(path, deadline, access);
  auto answer = access(path);
  if (answer || answer.error().sys_errno != EXDEV) return answer;
  UserPath beyond = path;
  beyond.served_by = kMountOnTheWay;
  return access_separately(beyond, deadline, access);
}

/// An open or a read of a file system whose server is silent ends only with its process, so another process does it.
Result<HomeAnswer> LocalNode::access_separately(const UserPath& path, std::chrono::milliseconds deadline,
                                                const HomeAccess& access) const {
  if (silent_mounts_.contains(path.shared_mount)) return failure(is_silent(path));
  const auto silent = silent_homes_.find(path.home);
  if (silent != silent_homes_.end()) return failure(silent->second);
  if (links_) deadline = std::min(deadline, home_time_.left_for(path.home));
  if (deadline <= std::chrono::milliseconds(0)) return failure(home_time_.used_up(path));
  auto answer = in_timed_process(path, deadline, access);
  if (answer || !is_missed_deadline(answer.error())) return answer;
  return failure(home_time_.shows_silence(deadline) ? note_silence(path) : home_time_.used_up(path));
}

Result<HomeAnswer> LocalNode::in_timed_process(const UserPath& path, std::chrono::milliseconds deadline,
                                               const HomeAccess& access) const {
  const auto begin = std::chrono::steady_clock::now();
  auto answer = in_separate_process([&] { return access(path); }, root_.get(), deadline);
  const auto took = std::chrono::steady_clock::now() - begin;
  if (links_) home_time_.add(path, std::chrono::duration_cast<std::chrono::milliseconds>(took));
  return answer;
}

/// The user may have mounted a program in the home. Then the file system of the home is not silent, and other homes may
/// be on it.
Error LocalNode::note_silence(const UserPath& path) const {
  if (path.served_by == kMountOnTheWay) return silent_homes_.insert_or_assign(path.home, is_silent(path)).first->second;
  const auto look = [&](const UserPath& home) { return look_at_home_itself(home); };
  const auto itself = in_timed_process(beside(path, {}), home_time_.for_home_itself(), look);
  const bool answers = itself || !is_missed_deadline(itself.error());
  if (!answers && !path.shared_mount.empty()) {
    silent_mounts_.insert(path.shared_mount);
    return is_silent(path);
  }
  return silent_homes_.insert_or_assign(path.home, answers ? is_silent_inside(path) : is_silent(path)).first->second;
}

/// Asks the server, and not what the kernel remembers of its answers. If other homes share the file system of this one,
/// it enters no mount on the home, which the user may have made since the list of mounts was read.
Result<HomeAnswer> LocalNode::look_at_home_itself(const UserPath& path) const {
  SPARK_TRY(const FileDescriptor above, open_above(path));
  const Mounts mounts = path.shared_mount.empty() ? Mounts::kEntered : Mounts::kRefused;
  SPARK_TRY(const FileDescriptor home,
            open_beneath(above.get(), path.home.filename(), O_PATH | O_DIRECTORY, path.home, mounts));
  struct statx status {};
  if (::statx(home.get(), "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &status) != 0) {
    return failure(file_error("stat", path.home));
  }
  return HomeAnswer{};
}

/// The bytes and the status are of the same file, whatever its owner puts at the path meanwhile. Opening a device may
/// have side effects, so the status comes first. /proc then leads to the same file.
Result<HomeAnswer> LocalNode::open_and_read(const UserPath& path, std::size_t max_bytes) const {
  const fs::path whole = path.path();
  SPARK_TRY(const FileDescriptor there, open_user_file(path, O_PATH));
  SPARK_TRY(FileStatus status, status_of(there.get(), whole));
  if (status.kind == FileStatus::Kind::kSymlink) return link_in_the_way(whole);
  if (status.kind != FileStatus::Kind::kRegular) {
    return failure(ErrorCode::kUnsupported, whole.string() + " is not a regular file");
  }
  const auto same = "/proc/self/fd/" + std::to_string(there.get());
  const FileDescriptor file(::open(same.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
  if (file.get() < 0) return failure(file_error("open", whole));
  SPARK_TRY(std::string bytes, read_whole(file.get(), whole, max_bytes));
  return HomeAnswer{std::move(status), std::move(bytes)};
}

Result<HomeAnswer> LocalNode::open_and_look(const UserPath& path) const {
  SPARK_TRY(const FileDescriptor file, open_user_file(path, O_PATH));
  SPARK_TRY(FileStatus status, status_of(file.get(), path.path()));
  if (status.kind == FileStatus::Kind::kSymlink) return link_in_the_way(path.path());
  return HomeAnswer{std::move(status), {}};
}

Result<std::string> LocalNode::read_user_file(const UserPath& path, std::size_t max_bytes) const {
  SPARK_TRY(HomeAnswer answer,
            access_home(path, kLongestLook, [&](const UserPath& file) { return open_and_read(file, max_bytes); }));
  return std::move(answer.bytes);
}

Result<FileStatus> LocalNode::user_status(const UserPath& path) const {
  SPARK_TRY(HomeAnswer answer,
            access_home(path, kLongestLook, [&](const UserPath& file) { return open_and_look(file); }));
  return std::move(answer.status);
}

Result<FileContent> LocalNode::read_regular_user_file(const UserPath& path, std::size_t max_bytes) const {
  SPARK_TRY(HomeAnswer answer,
            access_home(path, kLongestLook, [&](const UserPath& file) { return open_and_read(file, max_bytes); }));
  return FileContent{std::move(answer.bytes), answer.status.mode, answer.status.uid, answer.status.gid};
}

Result<FileDescriptor> LocalNode::open_or_make_directory_of(const UserPath& file, const FileContent& owner) {
  if (file.checked && file.checked->status) return open_checked_directory_of(file, O_RDONLY);
  UserPath so_far = beside(file, {});
  SPARK_TRY(FileDescriptor directory, open_in_home(so_far, O_RDONLY | O_DIRECTORY));
  for (const auto& part : file.below.parent_path()) {
    so_far.below /= part;
    SPARK_TRY(const bool made, make_directory(directory.get(), so_far));
    if (!made && file.checked) return another_directory(file);  // The directory did not exist.
    SPARK_TRY(auto next, open_beneath(directory.get(), part, O_RDONLY | O_DIRECTORY, so_far.path(), mounts_on(file)));
    directory = std::move(next);
    if (made) SPARK_CHECK(give_new_directory(directory.get(), file, owner));
  }
  return directory;
}

Result<void> LocalNode::write_user_file(const UserPath& path, const FileContent& content) {
  const auto write = [&](const UserPath& file) -> Result<HomeAnswer> {
    SPARK_TRY(const FileDescriptor directory, open_or_make_directory_of(file, content));
    SPARK_CHECK(replace_file_in(directory.get(), file.path(), content, mounts_on(file)));
    return HomeAnswer{};
  };
  SPARK_CHECK(access_home(path, kLongestChange, write));
  return {};
}

Result<void> LocalNode::remove_user_file(const UserPath& path) {
  const auto remove = [&](const UserPath& file) -> Result<HomeAnswer> {
    SPARK_TRY(const auto directory,
              if_there(open_in_home(beside(file, file.below.parent_path()), O_RDONLY | O_DIRECTORY)));
    if (!directory) return HomeAnswer{};
    SPARK_CHECK(check_is_the_same(directory->get(), file));
    SPARK_CHECK(remove_file_in(directory->get(), file.path()));
    return HomeAnswer{};
  };
  SPARK_CHECK(access_home(path, kLongestChange, remove));
  return {};
}

}  // namespace sparkplan
