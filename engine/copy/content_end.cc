#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "engine/copy/accounts.h"
#include "engine/copy/chunk_digest.h"
#include "engine/copy/content.h"
#include "engine/copy/file_bytes.h"
#include "engine/core/bounded_text.h"
#include "engine/core/threads.h"

/// The end of Content: from the verified chunk to the file in its place.
namespace sparkplan::copy {
namespace {

constexpr unsigned kFewestKeepers = 3;
constexpr unsigned kMostKeepers = 8;
/// So many small files are synced with one call.
constexpr std::size_t kSmallFilesAtOnce = 256;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr const char* kNewLink = "new-link";

timespec time_from(std::int64_t nanoseconds) {
  timespec time{};
  time.tv_sec = nanoseconds / kSecond;
  time.tv_nsec = nanoseconds % kSecond;
  if (time.tv_nsec < 0) {
    time.tv_nsec += kSecond;
    --time.tv_sec;
  }
  return time;
}

Result<void> synced(int file, const std::string& path) {
  if (::fsync(file) == 0) return {};
  return failure(system_error("sync " + shown_text(path), errno));
}

}  // namespace

/// For each chunk, a connection has about twice the work of a keeper. With fewer keepers than half of the connections,
/// chunks would wait for them at the end, while the other processors are idle.
Result<void> Content::start_keepers() {
  const unsigned keepers = std::clamp(std::thread::hardware_concurrency() / 2, kFewestKeepers, kMostKeepers);
  for (unsigned i = 0; i < keepers; ++i) {
    auto started = add_thread(keepers_, [this] { keep(); });
    if (!started && keepers_.empty()) return started;
  }
  return {};
}

/// A keeper takes verified chunks one by one. The one that finds nothing left to do ends the transfer.
void Content::keep() {
  while (true) {
    std::unique_lock lock(mutex_);
    const auto all_fetched = [&] { return wanted_.empty() && taken_ == 0; };
    const auto has_work = [&] { return !to_keep_.empty() || (keeping_ == 0 && all_fetched() && !finishing_); };
    changed_.wait(lock, [&] { return stopped_ || error_ || complete_ || has_work(); });
    if (stopped_ || error_ || complete_) return;
    Result<void> outcome;
    if (!to_keep_.empty()) {
      const ChunkId id = to_keep_.front();
      to_keep_.pop_front();
      ++keeping_;
      lock.unlock();
      outcome = keep_chunk(id);
      lock.lock();
      --keeping_;
    } else {
      finishing_ = true;
      lock.unlock();
      outcome = finish();
      lock.lock();
      if (outcome) complete_ = true;
    }
    if (!outcome && !error_) error_ = std::move(outcome).error();
    changed_.notify_all();
  }
}

/// Reads a chunk again from the disk. After the last one of a file, the file moves to its place. Small files wait for
/// others, because each sync takes as long as for many.
Result<void> Content::keep_chunk(ChunkId id) {
  const bool small = files_[id.file].has.size() == 1;
  if (!small) SPARK_CHECK(check_chunk(id));
  bool whole = false;
  bool many = false;
  {
    const std::lock_guard lock(mutex_);
    File& file = files_[id.file];
    whole = --file.unchecked == 0;
    if (whole && entries_[id.file].last) {
      last_ready_.push_back(id.file);
      whole = false;
    } else if (small) {
      small_ready_.push_back(id.file);
    }
    many = small_ready_.size() >= kSmallFilesAtOnce;
  }
  if (many) SPARK_CHECK(place_small_files());
  if (whole && !small) SPARK_CHECK(place(id.file, false));
  return {};
}

Result<void> Content::check_chunk(ChunkId id) {
  const File& file = files_[id.file];
  SPARK_TRY(const auto opened, open_partial(file, O_RDONLY));
  const std::string& path = entries_[id.file].path;
  SPARK_CHECK(of_file(sync_range(opened.get(), offset_of(id), size_of(id)), path));
  drop_from_cache(opened.get(), offset_of(id), size_of(id));
  SPARK_TRY(const Digest digest, of_file(digest_at(opened.get(), size_of(id), offset_of(id)), path));
  checked_bytes_ += static_cast<std::int64_t>(size_of(id));
  drop_from_cache(opened.get(), offset_of(id), size_of(id));
  if (digest == file.digests[id.chunk]) return {};
  // The next sync fetches the file again.
  (void)::unlinkat(partial_.get(), file.partial.c_str(), 0);
  return failure(ErrorCode::kVerifyFailed, "the disk returns other bytes than were written: " + shown_text(path),
                 "look for errors of the disk in the kernel's log");
}

Result<void> Content::place_small_files() {
  std::vector<std::uint32_t> files;
  {
    const std::lock_guard lock(mutex_);
    files.swap(small_ready_);
  }
  if (files.empty()) return {};
  if (::syncfs(partial_.get()) != 0) return failure(system_error("sync the file system", errno));
  for (const std::uint32_t number : files) {
    if (!files_[number].has.empty()) SPARK_CHECK(check_chunk({number, 0}));
    SPARK_CHECK(place(number, true));
  }
  return {};
}

Result<void> Content::place(std::uint32_t number, bool synced_already) {
  const CopyEntry& entry = entries_[number];
  File& file = files_[number];
  // The controller has compared the sums of the nodes. A source could list the sum of another node's file.
  if (!entry.sum.empty() && sum_of(file.digests) != entry.sum) {
    return failure(ErrorCode::kVerifyFailed,
                   "the source has sent other content than it lists: " + shown_text(entry.path),
                   "name another node in `from`");
  }
  SPARK_TRY(const auto opened, open_partial(file, O_RDONLY));
  SPARK_CHECK(give_properties(opened.get(), entry));
  if (!synced_already) SPARK_CHECK(synced(opened.get(), entry.path));
  SPARK_CHECK(give_path(partial_.get(), file.partial.c_str(), tree_, entry.path, replace_));
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return failure(system_error("read " + shown_text(entry.path), errno));
  index_.add(entry.path, stamp_of(status), file.digests, DigestIndex::Came::kReceived);
  const std::lock_guard lock(mutex_);
  file.in_place = true;
  --(entry.last ? unplaced_last_ : unplaced_);
  changed_.notify_all();
  return {};
}

Result<std::pair<uid_t, gid_t>> Content::owner_of(const CopyEntry& entry) const {
  if (owner_) return std::pair(owner_->user, owner_->group);
  SPARK_TRY(const Account account, account_named(entry.user));
  SPARK_TRY(const gid_t group, group_named(entry.group));
  return std::pair(account.user, group);
}

Result<bool> Content::may_give_properties(const struct stat& status, const CopyEntry& entry) const {
  if (status.st_nlink <= 1) return true;
  constexpr mode_t kAll = 07777;
  if ((status.st_mode & kAll) != static_cast<mode_t>(entry.mode)) return false;
  if (::geteuid() != 0) return true;
  SPARK_TRY(const auto owner, owner_of(entry));
  return status.st_uid == owner.first && status.st_gid == owner.second;
}

/// Only root gives files away; any other user's files are that user's.
Result<void> Content::give_properties(int file, const CopyEntry& entry) const {
  if (::geteuid() == 0) {
    SPARK_TRY(const auto owner, owner_of(entry));
    if (::fchown(file, owner.first, owner.second) != 0) {
      return failure(system_error("give " + shown_text(entry.path) + " to its owner", errno));
    }
  }
  if (::fchmod(file, static_cast<mode_t>(entry.mode)) != 0) {
    return failure(system_error("set the mode of " + shown_text(entry.path), errno));
  }
  const timespec times[2] = {{0, UTIME_OMIT}, time_from(entry.mtime_ns)};  // NOLINT: the call takes an array.
  if (::futimens(file, times) == 0) return {};
  return failure(system_error("set the time of " + shown_text(entry.path), errno));
}

Result<void> Content::check_may_give(int directory, const CopyEntry& entry) const {
  SPARK_TRY(const auto owner, owner_of(entry));
  struct stat status {};
  if (::fstat(directory, &status) != 0) return failure(system_error("read " + shown_text(entry.path), errno));
  if (status.st_uid == owner.first && status.st_gid == owner.second) return {};
  SPARK_TRY(const auto id, Journal::id_of(directory));
  if (journal_.has_made(entry.path, id)) return {};
  return failure(ErrorCode::kRefused,
                 shown_text(entry.path) + " has another owner than on the source, and no unfinished sync has made it",
                 "look at the directory; give it the owner on the source with chown");
}

Result<void> Content::place_link(const CopyEntry& entry) {
  SPARK_TRY(const auto parent, tree_.open_parent(entry.path));
  const std::string name = name_of(entry.path);
  std::string target(entry.target.size() + 1, '\0');
  const auto size = ::readlinkat(parent.get(), name.c_str(), target.data(), target.size());
  if (size >= 0 && target.substr(0, static_cast<std::size_t>(size)) == entry.target) return {};
  if ((size >= 0 || errno != ENOENT) && !replace_) {
    return failure(ErrorCode::kRefused, shown_text(entry.path) + " has other content",
                   "look at it; `sparkplan sync --yes` replaces it");
  }
  (void)::unlinkat(partial_.get(), kNewLink, 0);
  if (::symlinkat(entry.target.c_str(), partial_.get(), kNewLink) != 0) {
    return failure(system_error("make the link " + shown_text(entry.path), errno));
  }
  if (::geteuid() == 0) {
    SPARK_TRY(const auto owner, owner_of(entry));
    if (::fchownat(partial_.get(), kNewLink, owner.first, owner.second, AT_SYMLINK_NOFOLLOW) != 0) {
      return failure(system_error("give " + shown_text(entry.path) + " to its owner", errno));
    }
  }
  SPARK_CHECK(give_path(partial_.get(), kNewLink, tree_, entry.path, replace_));
  index_.add_link(entry.path, entry.target);
  return {};
}

/// Files, then links to them, then the files whose names make the tree valid, then the directories.
Result<void> Content::finish() {
  SPARK_CHECK(place_small_files());
  for (const CopyEntry& entry : entries_) {
    if (entry.kind == CopyKind::kLink) SPARK_CHECK(place_link(entry));
  }
  if (::syncfs(partial_.get()) != 0) return failure(system_error("sync the file system", errno));
  std::vector<std::uint32_t> last;
  {
    const std::lock_guard lock(mutex_);
    if (unplaced_ != 0) return failure(ErrorCode::kBug, "a file was not placed");
    last.swap(last_ready_);
  }
  for (const std::uint32_t number : last) {
    if (!files_[number].has.empty()) SPARK_CHECK(check_chunk({number, 0}));
    SPARK_CHECK(place(number, false));
  }
  SPARK_CHECK(finish_directories());
  const std::lock_guard lock(mutex_);
  if (unplaced_last_ != 0) return failure(ErrorCode::kBug, "a file was not placed");
  return {};
}

Result<void> Content::finish_directories() {
  // Deepest first: a directory without write permission would keep its own files out.
  for (auto entry = entries_.rbegin(); entry != entries_.rend(); ++entry) {
    if (entry->kind != CopyKind::kDirectory) continue;
    SPARK_TRY(const auto opened, tree_.open_file(entry->path, O_RDONLY | O_DIRECTORY));
    // Again: since the beginning, another directory may have got the name.
    if (::geteuid() == 0) SPARK_CHECK(check_may_give(opened.get(), *entry));
    SPARK_CHECK(give_properties(opened.get(), *entry));
    SPARK_CHECK(synced(opened.get(), entry->path));
  }
  SPARK_CHECK(finish_root());
  return synced(tree_.root(), "the tree");
}

/// Last: each name that comes or goes changes the directory's time.
Result<void> Content::finish_root() {
  tree_.remove_partial_folder();
  return root_ ? give_properties(tree_.root(), *root_) : Result<void>();
}

}  // namespace sparkplan::copy
