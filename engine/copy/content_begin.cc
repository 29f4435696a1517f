#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <optional>
#include <set>
#include <string_view>
#include <thread>
#include <vector>

#include "engine/copy/accounts.h"
#include "engine/copy/chunk_digest.h"
#include "engine/copy/content.h"
#include "engine/copy/file_bytes.h"
#include "engine/copy/tree.h"
#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"
#include "engine/core/threads.h"
#include "engine/core/units.h"

/// The beginning of Content: what is there, and what is missing.
namespace sparkplan::copy {
namespace {

constexpr int kOwnerDoesAll = 0700;

CopyEntry entry_of(const CopyRoot& root) {
  CopyEntry entry;
  entry.path = kRootPath;
  entry.kind = CopyKind::kDirectory;
  entry.mode = root.mode;
  entry.mtime_ns = root.mtime_ns;
  entry.user = root.user;
  entry.group = root.group;
  return entry;
}

/// True if no other user can give a name in this directory to another file.
bool is_private_folder(int directory) {
  struct stat status {};
  return ::fstat(directory, &status) == 0 && status.st_uid == ::geteuid() && (status.st_mode & 0022U) == 0;
}

/// Makes the folder of unfinished files. A user of the tree could have made it before, to exchange a file between its
/// check and its name, or to write a journal.
Result<FileDescriptor> folder_of_unfinished(const Tree& tree) {
  constexpr int kAttempts = 2;
  const std::string name(kPartialFolder);
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    SPARK_TRY(const bool is_made, tree.make_directory(name));
    SPARK_TRY(auto folder, tree.open_file(name, O_RDONLY | O_DIRECTORY));
    // Some file systems show one owner for everything. Only root writes for more users than itself.
    if (is_private_folder(folder.get()) || (is_made && ::geteuid() != 0)) return folder;
    tree.remove_partial_folder();
  }
  return failure(ErrorCode::kRefused, name + " belongs to another user, or other users can write to it",
                 "look at it, and remove it from the directory");
}

/// True if write_without_zeros() can leave holes in the file. Behind the end of a file, the attempt changes nothing.
bool keeps_holes(int file, std::int64_t size) {
  constexpr off_t kSome = 4096;
  return ::fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, size, kSome) == 0;
}

/// The space that the whole file takes on this disk: from 0 to its size. `unfinished`: the file that receives it.
std::int64_t bytes_on_disk(int unfinished, const CopyEntry& entry) {
  if (!entry.sparse || !keeps_holes(unfinished, entry.size)) return entry.size;
  return entry.size - std::clamp<std::int64_t>(entry.holes, 0, entry.size);
}

/// True if the file takes more than its entry lists, beyond blocks that are larger here than on the source.
bool has_false_holes(int unfinished, const CopyEntry& entry, const struct stat& status) {
  return status.st_blocks * kStatBlock > bytes_on_disk(unfinished, entry) + chunks_of(entry.size) * status.st_blksize;
}

/// The status of what has the path, and of a link itself. Nothing: the path is free. Errors: kRefused (a directory,
/// which no consent replaces), kFailed.
Result<std::optional<struct stat>> status_of_name(const Tree& tree, const std::string& path) {
  SPARK_TRY(const auto there, if_there(tree.open_file(path, O_PATH)));
  if (!there) return std::nullopt;
  struct stat status {};
  if (::fstat(there->get(), &status) != 0) return failure(system_error("read " + shown_text(path), errno));
  if (!S_ISDIR(status.st_mode)) return status;
  return failure(ErrorCode::kRefused, shown_text(path) + " is a directory here, and none on the source", kRemoveByHand);
}

}  // namespace

Result<CopyBegun> Content::begin(const CopyBegin& command) {
  if (begun_) return failure(ErrorCode::kInvalidInput, "the transfer has begun already");
  source_ = command.source;
  replace_ = command.replace;
  CopyBegun begun;
  begun.free_bytes = tree_.free_bytes();
  files_.resize(entries_.size());
  if (!source_) {
    if (command.root) root_ = entry_of(*command.root);
    SPARK_CHECK(check_owners());
    SPARK_TRY(const bool is_new, begin_root());
    SPARK_TRY(partial_, folder_of_unfinished(tree_));
    SPARK_CHECK(journal_.open(partial_.get()));
    SPARK_CHECK(record_root(is_new));
  }
  for (std::uint32_t number = 0; number < entries_.size(); ++number) {
    const CopyEntry& entry = entries_[number];
    if (entry.kind == CopyKind::kFile) {
      SPARK_CHECK(source_ ? begin_source(number) : begin_receiver(number, command.replace, begun));
    } else if (entry.kind == CopyKind::kDirectory && !source_) {
      SPARK_CHECK(begin_directory(entry));
    } else if (!source_) {
      SPARK_CHECK(status_of_name(tree_, entry.path));
    }
  }
  if (!source_) SPARK_CHECK(journal_.confirm());
  const std::lock_guard lock(mutex_);
  wanted_ = in_turns(wanted_);
  if (!source_) SPARK_CHECK(start_keepers());
  begun_ = true;
  return begun;
}

Result<bool> Content::begin_root() {
  const auto origin = index_.origin();
  // Another user may have moved an own directory here since a sync has made it.
  if (!root_ || !origin || !origin->made || !tree_.is_new()) return false;
  CopyEntry usable = *root_;
  usable.mode |= kOwnerDoesAll;
  SPARK_CHECK(give_properties(tree_.root(), usable));
  return true;
}

/// Of a directory that no sync has made here, nothing is changed. Before anything is sent, as check_owners(): the
/// source may have given its directory to another user since an interrupted sync.
Result<void> Content::record_root(bool is_new) {
  SPARK_TRY(const auto id, Journal::id_of(tree_.root()));
  if (is_new) SPARK_CHECK(journal_.add_directory(kRootPath, id));
  if (!journal_.has_made(kRootPath, id)) root_.reset();
  if (root_ && ::geteuid() == 0) SPARK_CHECK(owner_of(*root_));
  return {};
}

/// Before anything is sent: without its owner, a file would fail only when all of its bytes are there.
Result<void> Content::check_owners() const {
  if (owner_ || ::geteuid() != 0) return {};
  std::set<std::string_view> users;
  std::set<std::string_view> groups;
  for (const CopyEntry& entry : entries_) {
    if (users.insert(entry.user).second) SPARK_CHECK(account_named(entry.user));
    if (groups.insert(entry.group).second) SPARK_CHECK(group_named(entry.group));
  }
  return {};
}

Result<void> Content::begin_directory(const CopyEntry& entry) {
  const bool is_root = ::geteuid() == 0;
  SPARK_TRY(const bool made, is_root ? make_directory_in_private(entry) : tree_.make_directory(entry.path));
  if (made) index_.add_directory(entry.path);
  if (made || !is_root) return {};
  SPARK_TRY(const auto opened, tree_.open_file(entry.path, O_RDONLY | O_DIRECTORY));
  return check_may_give(opened.get(), entry);
}

/// Root gives the directory away later. In the tree, another user could exchange it before this process knows its
/// inode: so it is made where no other user can write. False: it exists already.
Result<bool> Content::make_directory_in_private(const CopyEntry& entry) {
  SPARK_TRY(const auto parent, tree_.open_parent(entry.path));
  const std::string name = name_of(entry.path);
  struct stat status {};
  // make_directory() checks the kind of what is there.
  if (::fstatat(parent.get(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0) return tree_.make_directory(entry.path);
  (void)::unlinkat(partial_.get(), kNewDirectory, AT_REMOVEDIR);
  if (::mkdirat(partial_.get(), kNewDirectory, 0700) != 0) {
    return failure(system_error("make the directory " + shown_text(entry.path), errno));
  }
  const FileDescriptor made(::openat(partial_.get(), kNewDirectory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!made.valid()) return failure(system_error("open the directory " + shown_text(entry.path), errno));
  SPARK_TRY(const auto id, Journal::id_of(made.get()));
  SPARK_CHECK(journal_.add_directory(entry.path, id));
  SPARK_CHECK(give_path(partial_.get(), kNewDirectory, tree_, entry.path, replace_));
  return true;
}

Result<void> Content::begin_source(std::uint32_t number) {
  const CopyEntry& entry = entries_[number];
  SPARK_TRY(const auto status, tree_.status_of(entry.path));
  const FileStamp stamp = stamp_of(status);
  if (stamp.size != entry.size || stamp.mtime_ns != entry.mtime_ns) {
    return failure(ErrorCode::kStalePlan, shown_text(entry.path) + " has changed since it was listed");
  }
  File& file = files_[number];
  file.stamp = stamp;
  file.digests = index_.find(entry.path, stamp, static_cast<std::size_t>(chunks_of(entry.size)));
  file.has.assign(file.digests.size(), Has::kVerified);
  file.in_place = true;
  done_bytes_ += entry.size;
  return {};
}

Result<bool> Content::is_in_place(std::uint32_t number, bool replace) {
  const CopyEntry& entry = entries_[number];
  File& file = files_[number];
  SPARK_TRY(const auto status, status_of_name(tree_, entry.path));
  if (!status) return false;
  if (!S_ISREG(status->st_mode)) {
    // place() gives the new file its name by a rename, which follows no link.
    if (replace) return false;
    return failure(ErrorCode::kRefused, shown_text(entry.path) + " is not a regular file",
                   "look at it; `sparkplan sync --yes` replaces it");
  }
  const FileStamp stamp = stamp_of(*status);
  file.old = index_.find(entry.path, stamp, static_cast<std::size_t>(chunks_of(stamp.size)));
  const bool is_whole = stamp.size == entry.size && std::ranges::all_of(file.old, is_known);
  // The controller has compared the sums. The digests of the source come later, and could be others.
  const bool equal = is_whole && (entry.sum.empty() ? file.old == file.digests : sum_of(file.old) == entry.sum);
  bool is_linked = false;
  if (equal) {
    SPARK_TRY(const auto opened, tree_.open_file(entry.path, O_RDONLY));
    // One look: a name that is removed between two looks would change the number of names, and the stamp too late.
    struct stat now {};
    if (::fstat(opened.get(), &now) != 0) return failure(system_error("read " + shown_text(entry.path), errno));
    // Meanwhile the name may lead to another file. The index does not know that one.
    const bool is_same = stamp_of(now) == stamp;
    SPARK_TRY(const bool may_give, may_give_properties(now, entry));
    is_linked = is_same && !may_give;
    if (is_same && may_give) {
      SPARK_CHECK(give_properties(opened.get(), entry));
      SPARK_TRY(const FileStamp given, stamp_of_open(opened.get(), entry.path));
      const bool brought = index_.is_brought(entry.path, stamp);
      file.digests = file.old;
      index_.add(entry.path, given, file.digests, brought ? DigestIndex::Came::kReceived : DigestIndex::Came::kEqual);
      return true;
    }
  }
  if (replace) return false;
  if (!is_linked) {
    return failure(ErrorCode::kRefused, shown_text(entry.path) + " has other content",
                   "look at the file; `sparkplan sync --yes` replaces it");
  }
  return failure(ErrorCode::kRefused,
                 shown_text(entry.path) + " has other names, and another mode or owner than declared",
                 "remove the file or its other names, and run `sparkplan sync` again");
}

Result<void> Content::begin_receiver(std::uint32_t number, bool replace, CopyBegun& begun) {
  const CopyEntry& entry = entries_[number];
  File& file = files_[number];
  file.digests = unpacked(entry.digests, entry.size);
  file.has.assign(file.digests.size(), Has::kNothing);
  SPARK_TRY(file.in_place, is_in_place(number, replace));
  if (file.in_place) {
    file.has.assign(file.digests.size(), Has::kVerified);
    done_bytes_ += entry.size;
    return {};
  }
  ++(entry.last ? unplaced_last_ : unplaced_);
  file.partial = sha256(entry.path + '\0' + std::to_string(entry.size)).substr(0, 32);
  SPARK_CHECK(begin_partial(number, begun));
  for (std::uint32_t chunk = 0; chunk < file.has.size(); ++chunk) {
    const ChunkId id{number, chunk};
    const auto bytes = static_cast<std::int64_t>(size_of(id));
    if (file.has[chunk] == Has::kVerified) {
      done_bytes_ += bytes;
      // A chunk of an earlier process may have been written just before the process was killed.
      to_keep_.push_back(id);
      continue;
    }
    const bool local = chunk < file.old.size() && is_known(file.old[chunk]) && file.old[chunk] == file.digests[chunk];
    wanted_.push_back({id, size_of(id), local});
    if (!local) begun.missing_bytes += bytes;
  }
  file.unchecked = file.has.size();
  if (file.has.empty()) (entry.last ? last_ready_ : small_ready_).push_back(number);
  return {};
}

/// Finds the chunks that an earlier process has verified.
Result<void> Content::begin_partial(std::uint32_t number, CopyBegun& begun) {
  const CopyEntry& entry = entries_[number];
  File& file = files_[number];
  struct stat status {};
  const bool is_there = ::fstatat(partial_.get(), file.partial.c_str(), &status, AT_SYMLINK_NOFOLLOW) == 0;
  if (!is_there) SPARK_CHECK(journal_.begin_again(file.partial));
  SPARK_TRY(const auto opened, open_partial(file, O_RDWR | O_CREAT));
  if (::fstat(opened.get(), &status) != 0 || ::ftruncate(opened.get(), entry.size) != 0) {
    return failure(system_error("write an unfinished file", errno));
  }
  begun.needed_bytes += std::max<std::int64_t>(bytes_on_disk(opened.get(), entry) - status.st_blocks * kStatBlock, 0);
  if (!is_there) return {};
  std::vector<ChunkId> recorded;
  const Journal::Chunks journalled = journal_.chunks_of_file(file.partial);
  for (const auto& [chunk, digest] : journalled) {
    if (chunk >= file.has.size() || file.digests[chunk] != digest) continue;
    recorded.push_back({number, static_cast<std::uint32_t>(chunk)});
  }
  const bool read_again = journal_.of_earlier_boot() || status.st_size != entry.size;
  if (!read_again) {
    for (const ChunkId id : recorded) file.has[id.chunk] = Has::kVerified;
    return {};
  }
  find_again(opened.get(), recorded);
  // The next process must not count what the disk has lost, also if this one is killed before it is fetched again.
  Journal::Chunks found;
  for (const auto& one : journalled) {
    if (one.first < file.has.size() && file.has[one.first] == Has::kVerified) found.insert(one);
  }
  return journal_.keep_only(file.partial, found);
}

Result<void> Content::check_space(int unfinished, ChunkId id) {
  // Without a look at the file system for each chunk: other programs write little meanwhile.
  constexpr std::int64_t kMostBetweenLooks = 8 * kCopyChunk;
  const auto bytes = static_cast<std::int64_t>(size_of(id));
  std::int64_t free = 0;
  {
    const std::lock_guard lock(space_mutex_);
    if (may_write_ < bytes) {
      free = free_bytes_ ? free_bytes_() : tree_.free_bytes();
      may_write_ = std::min(free - kLeastFree, kMostBetweenLooks);
    }
    if (may_write_ >= bytes) {
      may_write_ -= bytes;
      return {};
    }
  }
  // Bytes of an interrupted sync have their space already.
  struct stat status {};
  if (::fstat(unfinished, &status) == 0 && status.st_blocks * kStatBlock >= entries_[id.file].size) return {};
  return failure(no_space_for(id, free));
}

/// Ends the transfer. Removes unfinished files that take more than listed: else they would fill the disk of this node
/// until someone finds them.
Error Content::no_space_for(ChunkId id, std::int64_t free) {
  std::vector<std::uint32_t> false_ones;
  std::string what;
  for (std::uint32_t number = 0; number < entries_.size(); ++number) {
    const CopyEntry& entry = entries_[number];
    if (!entry.sparse || files_[number].partial.empty()) continue;
    const auto opened = open_partial(files_[number], O_RDWR);
    struct stat status {};
    if (!opened || ::fstat(opened->get(), &status) != 0 || !has_false_holes(opened->get(), entry, status)) continue;
    false_ones.push_back(number);
    if (!what.empty()) continue;
    what = ", and the source lists holes that " + shown_text(entry.path) + " does not have here: it took " +
           format_megabytes(status.st_blocks * kStatBlock) + " of the listed " +
           format_megabytes(bytes_on_disk(opened->get(), entry));
  }
  Error error = make_error(
      ErrorCode::kFailed,
      "no space for " + shown_text(entries_[id.file].path) + ": " + format_megabytes(free) + " are free" + what,
      what.empty() ? "make room on this node: the next sync continues"
                   : "look at the file on the source, which may compress it; the unfinished file was removed");
  error.sys_errno = ENOSPC;
  // Before the removal: another connection that misses its file must not be the first to say why the transfer ends.
  fail(error);
  for (const std::uint32_t number : false_ones) (void)::unlinkat(partial_.get(), files_[number].partial.c_str(), 0);
  return error;
}

/// With many readers: one alone would take minutes for a large model, and the other nodes do not wait that long.
void Content::find_again(int partial, const std::vector<ChunkId>& recorded) {
  const auto count = readers_for(recorded.size());
  std::atomic<std::size_t> next{0};
  std::vector<std::jthread> readers;
  for (std::size_t i = 0; i < count; ++i) {
    add_thread_or_run(readers, [&] {
      for (std::size_t at = next++; at < recorded.size(); at = next++) {
        const ChunkId id = recorded[at];
        File& file = files_[id.file];
        const auto found = digest_at(partial, size_of(id), offset_of(id));
        checked_bytes_ += static_cast<std::int64_t>(size_of(id));
        if (found && *found == file.digests[id.chunk]) file.has[id.chunk] = Has::kVerified;
      }
    });
  }
}

Result<FileDescriptor> Content::open_partial(const File& file, int flags) const {
  constexpr int kAlways = O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  FileDescriptor opened(::openat(partial_.get(), file.partial.c_str(), flags | kAlways, 0600));
  if (!opened.valid()) return failure(system_error("open an unfinished file", errno));
  SPARK_CHECK(check_regular(opened.get(), "an unfinished file"));
  // A user of the directory could have linked another file there, to have it written.
  struct stat status {};
  if (::fstat(opened.get(), &status) == 0 && status.st_nlink <= 1) return opened;
  return failure(ErrorCode::kRefused, "an unfinished file has other names",
                 "remove " + std::string(kPartialFolder) + " in the directory");
}

}  // namespace sparkplan::copy
