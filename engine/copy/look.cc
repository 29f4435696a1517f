#include "engine/copy/look.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

#include "engine/copy/accounts.h"
#include "engine/copy/file_bytes.h"
#include "engine/core/bounded_text.h"
#include "engine/core/threads.h"

namespace sparkplan::copy {
namespace {

constexpr std::size_t kMostChanged = 100;
/// The names and digests in one frame. A message has at most 16 MiB: one more file has 11 MiB of digests in base64, and
/// the escapes of a control character have six bytes.
constexpr std::size_t kMostBytesInFrame = std::size_t{512} << 10;

/// One chunk to read.
struct Part {
  std::size_t entry;
  std::size_t chunk;
};

class Reading {
 public:
  Reading(const Tree& tree, DigestIndex& index, const std::vector<FoundEntry>& found,
          std::vector<std::vector<Digest>>& digests, std::atomic<std::int64_t>& read_bytes)
      : tree_(tree), index_(index), found_(found), digests_(digests), read_bytes_(read_bytes) {}

  Result<void> run(std::vector<Part> parts) {
    parts_ = std::move(parts);
    const auto readers = readers_for(parts_.size());
    {
      std::vector<std::jthread> threads;
      for (std::size_t i = 0; i < readers; ++i) add_thread_or_run(threads, [this] { work(); });
    }
    if (error_) return failure(*error_);
    return {};
  }

 private:
  void work() {
    for (std::size_t i = next_++; i < parts_.size() && !failed_; i = next_++) {
      auto outcome = read(parts_[i]);
      if (outcome) continue;
      const std::lock_guard lock(mutex_);
      failed_ = true;
      if (!error_) error_ = std::move(outcome).error();
    }
  }

  Result<void> read(const Part& part) {
    const FoundEntry& one = found_[part.entry];
    const auto offset = static_cast<std::int64_t>(part.chunk) * kCopyChunk;
    SPARK_TRY(const auto file, tree_.open_file(one.entry.path, O_RDONLY));
    const auto size = static_cast<std::size_t>(std::min(kCopyChunk, one.entry.size - offset));
    SPARK_TRY(const Digest digest, of_file(digest_at(file.get(), size, offset), one.entry.path));
    drop_from_cache(file.get(), offset, size);
    struct stat status {};
    if (::fstat(file.get(), &status) != 0 || stamp_of(status) != one.stamp) {
      return failure(ErrorCode::kStalePlan, shown_text(one.entry.path) + " changes while it is read");
    }
    digests_[part.entry][part.chunk] = digest;
    index_.add(one.entry.path, one.stamp, digests_[part.entry].size(), part.chunk, digest);
    read_bytes_ += static_cast<std::int64_t>(size);
    return {};
  }

  const Tree& tree_;
  DigestIndex& index_;
  const std::vector<FoundEntry>& found_;
  std::vector<std::vector<Digest>>& digests_;
  std::atomic<std::int64_t>& read_bytes_;
  std::vector<Part> parts_;
  std::atomic<std::size_t> next_{0};
  std::atomic<bool> failed_{false};
  std::mutex mutex_;
  std::optional<Error> error_;
};

std::vector<std::string> changed_since_received(const DigestIndex& index, const std::vector<FoundEntry>& found) {
  std::map<std::string, FileStamp> there;
  for (const FoundEntry& one : found) {
    if (one.entry.kind == CopyKind::kFile) there.emplace(one.entry.path, one.stamp);
  }
  std::vector<std::string> changed;
  for (const auto& [path, record] : index.records()) {
    if (!record.received || changed.size() == kMostChanged) continue;
    const auto now = there.find(path);
    if (now == there.end() || now->second != record.stamp) changed.push_back(path);
  }
  return changed;
}

Result<CopyRoot> root_of(const Tree& tree) {
  struct stat status {};
  if (::fstat(tree.root(), &status) != 0) return failure(system_error("read the directory", errno));
  return CopyRoot{static_cast<int>(status.st_mode & 0777U), stamp_of(status).mtime_ns, user_name(status.st_uid),
                  group_name(status.st_gid)};
}

void emit_all(const std::vector<FoundEntry>& found, const std::vector<std::vector<Digest>>& digests, bool chunks,
              const std::function<void(CopyEntries)>& emit) {
  CopyEntries part;
  std::size_t bytes = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    CopyEntry entry = found[i].entry;
    if (entry.kind == CopyKind::kFile) entry.sum = sum_of(digests[i]);
    // Of a file that was never read there is nothing to tell, and it may be one hole of 2 TiB.
    if (chunks && std::any_of(digests[i].begin(), digests[i].end(), is_known)) entry.digests = packed(digests[i]);
    bytes += entry.digests.size() + entry.path.size() + entry.target.size();
    part.entries.push_back(std::move(entry));
    if (part.entries.size() < kMostEntriesInFrame && bytes < kMostBytesInFrame) continue;
    emit(std::exchange(part, {}));
    bytes = 0;
  }
  if (!part.entries.empty()) emit(std::move(part));
}

}  // namespace

Result<CopyLooked> look(const Tree& tree, DigestIndex& index, const CopyLook& command,
                        std::atomic<std::int64_t>& read_bytes, const std::function<void(CopyEntries)>& emit) {
  SPARK_TRY(const auto found, tree.list());
  const std::set<std::string> only(command.paths.begin(), command.paths.end());
  std::vector<std::vector<Digest>> digests(found.size());
  std::vector<Part> parts;
  for (std::size_t i = 0; i < found.size(); ++i) {
    const FoundEntry& one = found[i];
    if (one.entry.kind != CopyKind::kFile) continue;
    digests[i] = index.find(one.entry.path, one.stamp, static_cast<std::size_t>(chunks_of(one.entry.size)));
    if (!command.read || (!only.empty() && !only.contains(one.entry.path))) continue;
    for (std::size_t chunk = 0; chunk < digests[i].size(); ++chunk) {
      if (command.ignore_known || !is_known(digests[i][chunk])) parts.push_back({i, chunk});
    }
  }
  SPARK_TRY(const CopyRoot root, root_of(tree));
  CopyLooked looked{changed_since_received(index, found), root};
  SPARK_CHECK(Reading(tree, index, found, digests, read_bytes).run(std::move(parts)));
  emit_all(found, digests, command.chunks, emit);
  return looked;
}

}  // namespace sparkplan::copy
