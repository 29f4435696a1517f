#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/core/file_descriptor.h"
#include "engine/core/result.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// Identifies the content of a file without reading it. A user can set the time of modification, but not the time
/// of change.
struct FileStamp {
  std::int64_t size = 0;
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  std::uint64_t inode = 0;

  bool operator==(const FileStamp&) const = default;
};
FileStamp stamp_of(const struct stat& status);

/// One name found below the tree.
struct FoundEntry {
  CopyEntry entry;
  FileStamp stamp;
};

/// In the folder of unfinished files: what Journal writes.
inline constexpr const char* kJournalName = "journal";
/// Whether the journal outlives the unfinished files.
enum class KeepJournal : bool { kNo, kYes };

/// A directory tree. All paths are relative to it; no link is followed and no mount point is entered below it.
class Tree {
 public:
  /// Opens the directory. Its own path may lead through links; for root only through those that root alone can change.
  /// Errors: kNotFound, kUnsupported (no directory), kRefused (such a link), kFailed.
  static Result<Tree> open(const std::string& path, CopyTreeKind kind = CopyTreeKind::kDirectory);
  /// Makes the directory and the missing ones above it. The directory itself belongs to `user` and `group`; of other
  /// kinds also those above it that were missing. False: the directory exists already.
  static Result<bool> make(const std::string& path, uid_t user, gid_t group,
                           CopyTreeKind kind = CopyTreeKind::kDirectory);

  int root() const { return root_.get(); }
  /// True if the directory belongs to the user of this process and is empty, as one that make() has made.
  bool is_new() const;
  /// As open(2), beneath the tree, for a regular file; with O_DIRECTORY for a directory, with O_PATH for any kind. It
  /// never waits for the other end of a FIFO. Errors: kNotFound, kRefused (a link, a mount point, another kind),
  /// kFailed.
  Result<FileDescriptor> open_file(const std::string& path, int flags, mode_t mode = 0) const;
  /// The directory that contains `path`. Errors: as open_file().
  Result<FileDescriptor> open_parent(const std::string& path) const;
  /// Makes the directory `path`; its parents exist. False: it exists already. Errors: kRefused (another kind of file
  /// has the name), kFailed.
  Result<bool> make_directory(const std::string& path) const;
  /// Everything below the tree, sorted by path. Errors: kRefused (a name or kind that cannot be copied, or a link that
  /// leaves the tree), kUnsupported (too many names, bytes of names or chunks), kFailed.
  Result<std::vector<FoundEntry>> list() const;
  /// The status of a regular file. Errors: kRefused for other kinds; as open_file().
  Result<struct stat> status_of(const std::string& path) const;
  /// Bytes that the user of this process may still write.
  std::int64_t free_bytes() const;
  /// Removes the unfinished files, and their folder if nothing else is in it. The journal goes too, unless it is kept.
  void remove_partial_folder(KeepJournal keep = KeepJournal::kNo) const;
  /// On the disk, in the folder of unfinished files.
  std::int64_t partial_bytes() const;

 private:
  Tree(FileDescriptor root, CopyTreeKind kind) : root_(std::move(root)), kind_(kind) {}
  /// The entries that list() has found, and their sums.
  struct Found {
    std::vector<FoundEntry> entries;
    std::int64_t chunks = 0;
    std::size_t name_bytes = 0;

    /// Errors: kUnsupported.
    Result<void> add(FoundEntry one);
  };
  Result<void> list_into(int directory, const std::string& prefix, Found& found) const;
  FileDescriptor root_;
  CopyTreeKind kind_;
};

/// Removes a directory that is empty. Its path may lead through links as in Tree::open(). True if it was removed.
bool remove_empty_directory(const std::string& path);
/// Gives `name`, which is in `folder`, its path in the tree. Without `replace`, a path that has appeared meanwhile
/// stays. Errors: kRefused (such a path), kNotFound, kFailed.
Result<void> give_path(int folder, const char* name, const Tree& tree, const std::string& path, bool replace);
/// Errors: kRefused.
Result<void> check_regular(int file, const std::string& path);
/// Errors: kFailed.
Result<FileStamp> stamp_of_open(int file, const std::string& path);

/// In the folder of unfinished files: a directory that root makes there before its name in the tree.
inline constexpr const char* kNewDirectory = "new-directory";

/// The directory of a tree, as no entry is named.
inline constexpr const char* kRootPath = ".";

/// Bytes of one block in `st_blocks` of stat(2), whatever the file system.
inline constexpr std::int64_t kStatBlock = 512;

/// The hint for a name that no consent replaces.
inline constexpr const char* kRemoveByHand = "remove it, or move it out of the directory";

/// The last part of a path.
std::string name_of(const std::string& path);

}  // namespace sparkplan::copy
