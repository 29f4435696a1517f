#include "engine/copy/tree.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string_view>

#include "engine/copy/accounts.h"
#include "engine/core/bounded_text.h"
#include "engine/core/text.h"

namespace sparkplan::copy {
namespace {

constexpr std::int64_t kNanoseconds = 1'000'000'000;

/// One system call that follows no link and leaves neither the directory nor its file system.
int open_beneath(int directory, const std::string& path, int flags, mode_t mode) {
  open_how how{};
  how.flags = static_cast<std::uint64_t>(static_cast<unsigned>(flags | O_CLOEXEC));
  how.mode = (flags & O_CREAT) != 0 ? mode : 0;
  how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV;
  // A rename anywhere on the system can ask for another attempt. A user's lease on the file asks without end.
  constexpr int kMostAttempts = 1000;
  int opened = -1;
  for (int attempt = 0; opened < 0 && attempt < kMostAttempts; ++attempt) {
    opened = static_cast<int>(::syscall(SYS_openat2, directory, path.c_str(), &how, sizeof how));
    if (opened < 0 && errno != EINTR && errno != EAGAIN) break;
  }
  return opened;
}

Error open_error(const std::string& path, int error) {
  const auto shown = shown_text(path);
  if (error == ENOENT) return make_error(ErrorCode::kNotFound, "there is no " + shown);
  if (error == ELOOP) return make_error(ErrorCode::kRefused, shown + " leads through a symbolic link");
  if (error == EXDEV) return make_error(ErrorCode::kRefused, shown + " is on another file system than its tree");
  if (error == ENOSYS) return make_error(ErrorCode::kUnsupported, "the kernel is older than Linux 5.6");
  return system_error("open " + shown, error);
}

std::string link_target(int directory, const char* name, Result<void>& outcome) {
  std::string target(kLongestCopyPath + 1, '\0');
  const auto size = ::readlinkat(directory, name, target.data(), target.size());
  if (size < 0 || static_cast<std::size_t>(size) > kLongestCopyPath) {
    outcome = failure(system_error("read the link " + shown_text(name), size < 0 ? errno : ENAMETOOLONG));
    return "";
  }
  target.resize(static_cast<std::size_t>(size));
  return target;
}

/// The owner of the last directory of a path, or of all of its directories, that have to be made.
struct NewOwner {
  uid_t user;
  gid_t group;
  bool of_all = false;
  mode_t mode = 0755;
};

/// True if no other user can put a link into this directory.
bool only_root_writes(int directory) {
  struct stat status {};
  return ::fstat(directory, &status) == 0 && status.st_uid == 0 && (status.st_mode & 0022U) == 0;
}

/// The names in an open directory, without "." and "..".
class DirectoryNames {
 public:
  explicit DirectoryNames(int directory) {
    const int again = ::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (again >= 0) stream_.reset(::fdopendir(again));
    if (stream_) return;
    error_ = errno;
    if (again >= 0) ::close(again);
  }

  /// Valid until the next call. Null at the end, and at an error.
  const char* next() {
    while (stream_ && error_ == 0) {
      errno = 0;
      const dirent* item = ::readdir(stream_.get());
      if (item == nullptr) {
        error_ = errno;
        return nullptr;
      }
      const std::string_view name = item->d_name;
      if (name != "." && name != "..") return item->d_name;
    }
    return nullptr;
  }
  /// The errno of the opening or of the last call; 0: none.
  int error() const { return error_; }

 private:
  std::unique_ptr<DIR, int (*)(DIR*)> stream_{nullptr, ::closedir};
  int error_ = 0;
};

/// True for a directory as this process makes it: its own, and empty.
bool is_new(int directory) {
  struct stat status {};
  if (::fstat(directory, &status) != 0 || status.st_uid != ::geteuid()) return false;
  DirectoryNames names(directory);
  return names.next() == nullptr && names.error() == 0;
}

/// Another user who can write to the directory above can move a directory to the name at any time: only one that is
/// new is given away.
Result<FileDescriptor> make_at(int directory, const std::string& name, const NewOwner* owner, const std::string& path) {
  const bool is_made = ::mkdirat(directory, name.c_str(), owner != nullptr ? owner->mode : mode_t{0755}) == 0;
  if (!is_made && errno != EEXIST) return failure(system_error("make the directory " + shown_text(path), errno));
  FileDescriptor made(::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.valid()) return failure(open_error(path, errno));
  if (owner == nullptr || !is_made) return made;
  if (!is_new(made.get())) return failure(ErrorCode::kRefused, shown_text(path) + " changes while it is made");
  if (::fchown(made.get(), owner->user, owner->group) != 0) {
    return failure(system_error("give " + shown_text(path) + " to its owner", errno));
  }
  return made;
}

/// Opens an absolute path part by part. Root follows a link only out of a directory that no other user can write to.
/// With `owner` it makes missing directories.
Result<FileDescriptor> walk(const std::string& path, const NewOwner* owner) {
  constexpr int kMostLinks = 40;
  FileDescriptor at(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  std::vector<std::string> left;
  const auto push = [&left](const std::string& parts) {
    const auto pieces = split(parts, '/');
    for (auto piece = pieces.rbegin(); piece != pieces.rend(); ++piece) {
      if (!piece->empty() && *piece != ".") left.emplace_back(*piece);
    }
  };
  push(path);
  int links = 0;
  while (!left.empty()) {
    const std::string name = left.back();
    left.pop_back();
    FileDescriptor next(::openat(at.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    const int error = errno;
    if (next.valid()) {
      at = std::move(next);
      continue;
    }
    if (error == ENOENT && owner != nullptr) {
      SPARK_TRY(at, make_at(at.get(), name, left.empty() || owner->of_all ? owner : nullptr, path));
      continue;
    }
    if (error != ELOOP && error != ENOTDIR) return failure(open_error(path, error));
    struct stat status {};
    const bool is_link =
        ::fstatat(at.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0 && S_ISLNK(status.st_mode);
    if (!is_link) return failure(ErrorCode::kUnsupported, shown_text(path) + " is not a directory");
    if (++links > kMostLinks || (::geteuid() == 0 && !only_root_writes(at.get()))) {
      return failure(
          ErrorCode::kRefused,
          shown_text(path) + " leads through the link " + shown_text(name) + ", which another user can change",
          "name the directory that the link leads to");
    }
    Result<void> outcome;
    const std::string target = link_target(at.get(), name.c_str(), outcome);
    SPARK_CHECK(outcome);
    if (target.starts_with('/')) at = FileDescriptor(::open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    push(target);
  }
  return at;
}

tl::unexpected<Error> refused_path(const std::string& path, const std::string& why, const char* hint = "") {
  return failure(ErrorCode::kRefused, shown_text(path) + " " + why, hint);
}

tl::unexpected<Error> link_out_of_tree(const std::string& path, CopyTreeKind kind) {
  const char* shared =
      "the cache shares this file between models: set HF_HUB_DISABLE_SHARED_BLOBS=1 and download it again";
  return refused_path(path, "is a link that leaves the tree", kind == CopyTreeKind::kHub ? shared : kRemoveByHand);
}

/// A name that sparkplan-copy gives below kPartialFolder. A user of the directory could have moved another folder
/// there.
bool is_unfinished(std::string_view name) {
  constexpr std::size_t kLengthOfPartial = 32;
  const bool is_file = name.size() == kLengthOfPartial && name.find_first_not_of("0123456789abcdef") == name.npos;
  return is_file || name == kJournalName || name == "new-link";
}

}  // namespace

FileStamp stamp_of(const struct stat& status) {
  const auto nanoseconds = [](const timespec& time) { return time.tv_sec * kNanoseconds + time.tv_nsec; };
  return {status.st_size, nanoseconds(status.st_mtim), nanoseconds(status.st_ctim), status.st_ino};
}

Result<FileStamp> stamp_of_open(int file, const std::string& path) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return failure(system_error("read " + shown_text(path), errno));
  return stamp_of(status);
}

Result<void> check_regular(int file, const std::string& path) {
  struct stat status {};
  if (::fstat(file, &status) != 0) return failure(system_error("read " + shown_text(path), errno));
  if (!S_ISREG(status.st_mode)) return refused_path(path, "is not a regular file");
  return {};
}

Result<void> give_path(int folder, const char* name, const Tree& tree, const std::string& path, bool replace) {
  SPARK_TRY(const auto parent, tree.open_parent(path));
  const unsigned flags = replace ? 0 : RENAME_NOREPLACE;
  if (::renameat2(folder, name, parent.get(), name_of(path).c_str(), flags) == 0) return {};
  if (errno == EEXIST) return refused_path(path, "has appeared during the transfer");
  return failure(system_error("give " + shown_text(path) + " its name", errno));
}

std::string name_of(const std::string& path) { return path.substr(path.rfind('/') + 1); }

Result<Tree> Tree::open(const std::string& path, CopyTreeKind kind) {
  SPARK_TRY(auto root, walk(path, nullptr));
  return Tree(std::move(root), kind);
}

Result<bool> Tree::make(const std::string& path, uid_t user, gid_t group, CopyTreeKind kind) {
  SPARK_TRY(const auto there, if_there(walk(path, nullptr)));
  if (there) return false;
  const bool is_private = kind == CopyTreeKind::kImage;
  const NewOwner owner{user, group, kind != CopyTreeKind::kDirectory, is_private ? mode_t{0700} : mode_t{0755}};
  SPARK_TRY(const auto made, walk(path, &owner));
  return true;
}

bool Tree::is_new() const { return copy::is_new(root()); }

Result<FileDescriptor> Tree::open_file(const std::string& path, int flags, mode_t mode) const {
  // The kernel refuses the two flags together with O_PATH.
  const bool of_any_kind = (flags & O_PATH) != 0;
  const int patient = of_any_kind ? 0 : O_NONBLOCK | O_NOCTTY;
  FileDescriptor opened(open_beneath(root(), path, flags | O_NOFOLLOW | patient, mode));
  if (!opened.valid()) return failure(open_error(path, errno));
  if (!of_any_kind && (flags & O_DIRECTORY) == 0) SPARK_CHECK(check_regular(opened.get(), path));
  return opened;
}

Result<FileDescriptor> Tree::open_parent(const std::string& path) const {
  const auto slash = path.rfind('/');
  return open_file(slash == std::string::npos ? "." : path.substr(0, slash), O_RDONLY | O_DIRECTORY);
}

Result<bool> Tree::make_directory(const std::string& path) const {
  SPARK_TRY(const auto parent, open_parent(path));
  // Other users see it only when it is complete and has its own mode.
  if (::mkdirat(parent.get(), name_of(path).c_str(), 0700) == 0) return true;
  if (errno != EEXIST) return failure(system_error("make the directory " + shown_text(path), errno));
  struct stat status {};
  const bool is_read = ::fstatat(parent.get(), name_of(path).c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (is_read && !S_ISDIR(status.st_mode)) return refused_path(path, "exists and is not a directory", kRemoveByHand);
  SPARK_TRY(const auto there, open_file(path, O_RDONLY | O_DIRECTORY));
  return false;
}

Result<struct stat> Tree::status_of(const std::string& path) const {
  SPARK_TRY(const auto file, open_file(path, O_PATH));
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) return failure(system_error("read " + shown_text(path), errno));
  if (!S_ISREG(status.st_mode)) return refused_path(path, "is not a regular file");
  return status;
}

std::int64_t Tree::free_bytes() const {
  struct statvfs status {};
  if (::fstatvfs(root(), &status) != 0) return 0;
  return static_cast<std::int64_t>(status.f_bavail) * static_cast<std::int64_t>(status.f_frsize);
}

void Tree::remove_partial_folder(KeepJournal keep) const {
  const std::string name(kPartialFolder);
  const auto folder = open_file(name, O_RDONLY | O_DIRECTORY);
  if (!folder) return;
  DirectoryNames names(folder->get());
  while (const char* one = names.next()) {
    if (keep == KeepJournal::kYes && std::string_view(one) == kJournalName) continue;
    if (is_unfinished(one)) (void)::unlinkat(folder->get(), one, 0);
    if (std::string_view(one) == kNewDirectory) (void)::unlinkat(folder->get(), one, AT_REMOVEDIR);
  }
  (void)::unlinkat(root(), name.c_str(), AT_REMOVEDIR);
}

std::int64_t Tree::partial_bytes() const {
  const auto folder = open_file(std::string(kPartialFolder), O_RDONLY | O_DIRECTORY);
  if (!folder) return 0;
  DirectoryNames names(folder->get());
  std::int64_t bytes = 0;
  while (const char* one = names.next()) {
    struct stat status {};
    const bool is_read = ::fstatat(folder->get(), one, &status, AT_SYMLINK_NOFOLLOW) == 0;
    if (is_read && S_ISREG(status.st_mode)) bytes += status.st_blocks * kStatBlock;
  }
  return bytes;
}

Result<void> Tree::Found::add(FoundEntry one) {
  const CopyEntry& entry = one.entry;
  chunks += chunks_of(entry.size);
  if (chunks > most_chunks_with(entries.size() + 1)) {
    return failure(ErrorCode::kUnsupported, "the tree has more than 4 TB, less 25 MB for each name");
  }
  name_bytes += entry.path.size() + entry.target.size() + entry.user.size() + entry.group.size();
  if (name_bytes > kMostCopyNameBytes) {
    return failure(ErrorCode::kUnsupported,
                   "the names of the tree have more than " + std::to_string(kMostCopyNameBytes >> 20U) + " MiB");
  }
  entries.push_back(std::move(one));
  return {};
}

Result<std::vector<FoundEntry>> Tree::list() const {
  Found all;
  SPARK_CHECK(list_into(root(), "", all));
  auto& found = all.entries;
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.entry.path < b.entry.path; });
  return std::move(found);
}

Result<void> Tree::list_into(int directory, const std::string& prefix, Found& found) const {
  if (static_cast<std::size_t>(std::count(prefix.begin(), prefix.end(), '/')) > kDeepestCopyTree) {
    return failure(ErrorCode::kUnsupported,
                   "the tree is more than " + std::to_string(kDeepestCopyTree) + " directories deep");
  }
  DirectoryNames names(directory);
  while (const char* one_name = names.next()) {
    const std::string name = one_name;
    if (prefix.empty() && name == kPartialFolder) continue;
    if (kind_ == CopyTreeKind::kHub && is_transient_blob(prefix + name)) continue;
    if (found.entries.size() == kMostCopyEntries) {
      return failure(ErrorCode::kUnsupported, "the tree has more than " + std::to_string(kMostCopyEntries) + " names");
    }
    struct stat status {};
    if (::fstatat(directory, name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;
      return failure(system_error("read " + shown_text(prefix + name), errno));
    }
    FoundEntry one;
    CopyEntry& entry = one.entry;
    entry.path = prefix + name;
    if (!is_path_below_tree(entry.path))
      return refused_path(entry.path, "has a name that is not UTF-8, or is too long");
    entry.mode = static_cast<int>(status.st_mode & 0777U);
    entry.user = user_name(status.st_uid);
    entry.group = group_name(status.st_gid);
    entry.mtime_ns = stamp_of(status).mtime_ns;
    if (S_ISREG(status.st_mode)) {
      one.stamp = stamp_of(status);
      entry.size = status.st_size;
      if (entry.size > kLargestCopyFile) return refused_path(entry.path, "has more than 2 TiB");
      entry.holes = std::max<std::int64_t>(status.st_size - status.st_blocks * kStatBlock, 0);
      entry.sparse = entry.holes > 0;
      entry.last = kind_ == CopyTreeKind::kHub && prefix.starts_with("refs/");
    } else if (S_ISLNK(status.st_mode)) {
      entry.kind = CopyKind::kLink;
      Result<void> outcome;
      entry.target = link_target(directory, name.c_str(), outcome);
      SPARK_CHECK(outcome);
      if (!stays_in_tree(entry.path, entry.target)) return link_out_of_tree(entry.path, kind_);
    } else if (S_ISDIR(status.st_mode)) {
      entry.kind = CopyKind::kDirectory;
      SPARK_TRY(const auto below, open_file(entry.path, O_RDONLY | O_DIRECTORY));
      const std::string path = entry.path;
      SPARK_CHECK(found.add(std::move(one)));
      SPARK_CHECK(list_into(below.get(), path + "/", found));
      continue;
    } else {
      return refused_path(entry.path, "is neither a file, a directory nor a link", kRemoveByHand);
    }
    SPARK_CHECK(found.add(std::move(one)));
  }
  // Without this, a directory that could be read only in part would pass for the whole one.
  if (names.error() != 0) return failure(system_error("list " + shown_text(prefix), names.error()));
  return {};
}

bool remove_empty_directory(const std::string& path) {
  const auto slash = path.rfind('/');
  if (slash == std::string::npos || slash + 1 == path.size()) return false;
  const auto parent = walk(slash == 0 ? "/" : path.substr(0, slash), nullptr);
  return parent && ::unlinkat(parent->get(), path.substr(slash + 1).c_str(), AT_REMOVEDIR) == 0;
}

}  // namespace sparkplan::copy
