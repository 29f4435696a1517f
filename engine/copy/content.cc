#include "engine/copy/content.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "engine/copy/file_bytes.h"
#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"

namespace sparkplan::copy {
namespace {

constexpr std::size_t kMostCached = 16;
constexpr std::chrono::seconds kLongestWaitForDigest{120};

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8U | static_cast<std::uint8_t>(bytes[at + i]);
  return number;
}

void append(std::string& bytes, std::uint32_t number) {
  for (unsigned shift = 32; shift > 0; shift -= 8) bytes += static_cast<char>(number >> (shift - 8) & 0xFFU);
}

Error ended_error() { return make_error(ErrorCode::kInterrupted, "the transfer has ended"); }

}  // namespace

Content::~Content() { stop(); }

Result<void> Content::expect(std::vector<CopyEntry> entries) {
  for (CopyEntry& entry : entries) {
    if (entries_.size() == kMostCopyEntries) return failure(ErrorCode::kInvalidInput, "too many files");
    const auto number = static_cast<std::uint32_t>(entries_.size());
    if (!places_.emplace(entry.path, number).second) {
      return failure(ErrorCode::kInvalidInput, "the list has " + shown_text(entry.path) + " twice");
    }
    entries_.push_back(std::move(entry));
  }
  return {};
}

std::size_t Content::size_of(ChunkId id) const {
  return static_cast<std::size_t>(std::min(kCopyChunk, entries_[id.file].size - offset_of(id)));
}

bool Content::exists(ChunkId id) const {
  return id.file < entries_.size() && entries_[id.file].kind == CopyKind::kFile &&
         id.chunk < files_[id.file].digests.size();
}

Result<CopyBegun> Content::begin(const CopyBegin& command) {
  if (begun_) return failure(ErrorCode::kInvalidInput, "the transfer has begun already");
  source_ = command.source;
  replace_ = command.replace;
  CopyBegun begun;
  begun.free_bytes = tree_.free_bytes();
  files_.resize(entries_.size());
  if (!source_) {
    SPARK_CHECK(tree_.make_directory(std::string(kPartialFolder)));
    SPARK_TRY(partial_, tree_.open_file(std::string(kPartialFolder), O_RDONLY | O_DIRECTORY));
    SPARK_CHECK(journal_.open(partial_.get()));
  }
  for (std::uint32_t number = 0; number < entries_.size(); ++number) {
    const CopyEntry& entry = entries_[number];
    if (entry.kind == CopyKind::kFile) {
      SPARK_CHECK(source_ ? begin_source(number) : begin_receiver(number, command.replace, begun));
    } else if (entry.kind == CopyKind::kDirectory && !source_) {
      SPARK_CHECK(tree_.make_directory(entry.path));
    }
  }
  const std::lock_guard lock(mutex_);
  begun_ = true;
  if (!source_) start_keepers();
  return begun;
}

Result<void> Content::begin_source(std::uint32_t number) {
  const CopyEntry& entry = entries_[number];
  SPARK_TRY(const auto status, tree_.status_of(entry.path));
  const FileStamp stamp = stamp_of(status);
  if (stamp.size != entry.size || stamp.mtime_ns != entry.mtime_ns) {
    return failure(ErrorCode::kStalePlan, shown_text(entry.path) + " has changed since it was listed");
  }
  File& file = files_[number];
  file.digests = index_.find(entry.path, stamp, static_cast<std::size_t>(chunks_of(entry.size)));
  file.has.assign(file.digests.size(), Has::kVerified);
  file.in_place = true;
  done_bytes_ += entry.size;
  return {};
}

Result<bool> Content::is_in_place(std::uint32_t number, bool replace) {
  const CopyEntry& entry = entries_[number];
  File& file = files_[number];
  SPARK_TRY(const auto status, if_there(tree_.status_of(entry.path)));
  if (!status) return false;
  const FileStamp stamp = stamp_of(*status);
  file.old = index_.find(entry.path, stamp, static_cast<std::size_t>(chunks_of(stamp.size)));
  const bool equal =
      stamp.size == entry.size && std::all_of(file.old.begin(), file.old.end(), is_known) && file.old == file.digests;
  if (equal) {
    SPARK_TRY(const auto opened, tree_.open_file(entry.path, O_RDONLY));
    SPARK_CHECK(give_properties(opened.get(), entry));
    struct stat now {};
    if (::fstat(opened.get(), &now) != 0) return failure(system_error("read " + shown_text(entry.path), errno));
    index_.add(entry.path, stamp_of(now), file.digests, true);
    return true;
  }
  if (replace) return false;
  return failure(ErrorCode::kRefused, shown_text(entry.path) + " has other content",
                 "look at the file; `sparkplan sync --yes` replaces it");
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
  constexpr std::int64_t kBlock = 512;
  begun.needed_bytes += std::max<std::int64_t>(entry.size - status.st_blocks * kBlock, 0);
  if (!is_there) return {};
  const bool read_again = journal_.of_earlier_boot() || status.st_size != entry.size;
  for (const auto& [chunk, digest] : journal_.chunks_of_file(file.partial)) {
    if (chunk >= file.has.size() || file.digests[chunk] != digest) continue;
    if (read_again) {
      const ChunkId id{number, static_cast<std::uint32_t>(chunk)};
      std::vector<char> bytes(size_of(id));
      if (!read_at(opened.get(), bytes, offset_of(id)) || digest_of(bytes.data(), bytes.size()) != digest) continue;
    }
    file.has[chunk] = Has::kVerified;
  }
  return {};
}

Result<FileDescriptor> Content::open_partial(const File& file, int flags) const {
  FileDescriptor opened(::openat(partial_.get(), file.partial.c_str(), flags | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!opened.valid()) return failure(system_error("open an unfinished file", errno));
  return opened;
}

Result<FileDescriptor> Content::open_to_read(std::uint32_t number) {
  for (int attempt = 0;; ++attempt) {
    bool in_place = false;
    {
      const std::lock_guard lock(mutex_);
      in_place = files_[number].in_place;
    }
    auto opened = in_place ? tree_.open_file(entries_[number].path, O_RDONLY) : open_partial(files_[number], O_RDONLY);
    // Between the two lines the file may have moved to its place.
    if (opened || in_place || attempt > 0) return opened;
  }
}

Result<ChunkBytes> Content::read_from_disk(ChunkId id) {
  const CopyEntry& entry = entries_[id.file];
  SPARK_TRY(const auto opened, open_to_read(id.file));
  auto bytes = std::make_shared<std::vector<char>>(size_of(id));
  SPARK_CHECK(read_at(opened.get(), *bytes, offset_of(id)));
  if (!source_) return bytes;
  struct stat status {};
  if (::fstat(opened.get(), &status) != 0) return failure(system_error("read " + shown_text(entry.path), errno));
  const FileStamp stamp = stamp_of(status);
  if (stamp.size != entry.size || stamp.mtime_ns != entry.mtime_ns) {
    return failure(ErrorCode::kStalePlan, shown_text(entry.path) + " changes while it is read");
  }
  drop_from_cache(opened.get(), offset_of(id), bytes->size());
  bool is_new = false;
  {
    const std::lock_guard lock(mutex_);
    is_new = !is_known(files_[id.file].digests[id.chunk]);
  }
  if (!is_new) return bytes;
  const Digest digest = digest_of(bytes->data(), bytes->size());
  index_.add(entry.path, stamp, files_[id.file].digests.size(), id.chunk, digest);
  note_digest(id, digest);
  return bytes;
}

void Content::note_digest(ChunkId id, const Digest& digest) {
  const std::lock_guard lock(mutex_);
  Digest& known = files_[id.file].digests[id.chunk];
  if (is_known(known)) return;
  known = digest;
  append(new_digests_, id.file);
  append(new_digests_, id.chunk);
  new_digests_.append(reinterpret_cast<const char*>(digest.data()), digest.size());
  changed_.notify_all();
}

Result<ChunkBytes> Content::read(ChunkId id) {
  {
    std::unique_lock lock(mutex_);
    if (!begun_ || !exists(id)) return failure(ErrorCode::kInvalidInput, "there is no such chunk");
    current_ = entries_[id.file].path;
    changed_.wait(lock, [&] { return stopped_ || error_ || files_[id.file].has[id.chunk] == Has::kVerified; });
    if (stopped_ || error_) return failure(ended_error());
    if (auto bytes = from_cache(id)) return bytes;
  }
  auto bytes = read_from_disk(id);
  if (!bytes) {
    fail(bytes.error());
    return bytes;
  }
  const std::lock_guard lock(mutex_);
  if (source_) put_in_cache(id, *bytes);
  return bytes;
}

void Content::put_in_cache(ChunkId id, ChunkBytes bytes) {
  if (!cache_.emplace(id, std::move(bytes)).second) return;
  cached_.push_back(id);
  if (cached_.size() <= kMostCached) return;
  cache_.erase(cached_.front());
  cached_.pop_front();
}

ChunkBytes Content::from_cache(ChunkId id) const {
  const auto found = cache_.find(id);
  return found == cache_.end() ? nullptr : found->second;
}

std::optional<Wanted> Content::take() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return stopped_ || error_ || !wanted_.empty() || taken_ == 0; });
  if (stopped_ || error_ || wanted_.empty()) return std::nullopt;
  lock.unlock();
  return take_now();
}

std::optional<Wanted> Content::take_now() {
  const std::lock_guard lock(mutex_);
  if (stopped_ || error_ || wanted_.empty()) return std::nullopt;
  const Wanted wanted = wanted_.front();
  wanted_.pop_front();
  files_[wanted.id.file].has[wanted.id.chunk] = Has::kTaken;
  ++taken_;
  current_ = entries_[wanted.id.file].path;
  return wanted;
}

void Content::give_back(const Wanted& wanted) {
  const std::lock_guard lock(mutex_);
  files_[wanted.id.file].has[wanted.id.chunk] = Has::kNothing;
  wanted_.push_front(wanted);
  --taken_;
  changed_.notify_all();
}

bool Content::take_from_old_file(const Wanted& wanted) {
  auto bytes = std::make_shared<std::vector<char>>(wanted.bytes);
  const auto opened = tree_.open_file(entries_[wanted.id.file].path, O_RDONLY);
  return opened && read_at(opened->get(), *bytes, offset_of(wanted.id)) && deliver(wanted, bytes);
}

Result<void> Content::await_digest(ChunkId id, Digest& digest) {
  std::unique_lock lock(mutex_);
  const auto known = [&] { return stopped_ || error_ || is_known(files_[id.file].digests[id.chunk]); };
  if (!changed_.wait_for(lock, kLongestWaitForDigest, known)) {
    return failure(ErrorCode::kUnreachable, "the digest of a chunk did not arrive in time");
  }
  if (stopped_ || error_) return failure(ended_error());
  digest = files_[id.file].digests[id.chunk];
  return {};
}

Result<void> Content::deliver(const Wanted& wanted, std::shared_ptr<std::vector<char>> bytes) {
  const ChunkId id = wanted.id;
  const Digest digest = digest_of(bytes->data(), bytes->size());
  Digest right{};
  SPARK_CHECK(await_digest(id, right));
  if (digest != right) {
    return failure(ErrorCode::kVerifyFailed, "chunk " + std::to_string(id.chunk) + " of " +
                                                 shown_text(entries_[id.file].path) + " has another digest");
  }
  if (auto written = write_chunk(id, *bytes); !written) {
    fail(written.error());
    return written;
  }
  const std::lock_guard lock(mutex_);
  File& file = files_[id.file];
  file.has[id.chunk] = Has::kVerified;
  --taken_;
  done_bytes_ += static_cast<std::int64_t>(wanted.bytes);
  put_in_cache(id, std::move(bytes));
  to_keep_.push_back(id);
  changed_.notify_all();
  return {};
}

Result<void> Content::write_chunk(ChunkId id, const std::vector<char>& bytes) {
  const File& file = files_[id.file];
  SPARK_TRY(const auto opened, open_partial(file, O_WRONLY));
  SPARK_CHECK(entries_[id.file].sparse ? write_without_zeros(opened.get(), bytes, offset_of(id))
                                       : write_at(opened.get(), bytes, offset_of(id)));
  return journal_.add(file.partial, id.chunk, file.digests[id.chunk]);
}

Result<void> Content::learn(const std::string& records) {
  const std::lock_guard lock(mutex_);
  for (std::size_t at = 0; at + kCopyRecordBytes <= records.size(); at += kCopyRecordBytes) {
    const ChunkId id{number_at(records, at), number_at(records, at + 4)};
    if (!exists(id)) return failure(ErrorCode::kInvalidInput, "a digest of no chunk");
    Digest digest{};
    const auto* begin = reinterpret_cast<const std::uint8_t*>(records.data()) + at + 8;
    std::copy(begin, begin + kCopyDigestBytes, digest.begin());
    Digest& known = files_[id.file].digests[id.chunk];
    if (!is_known(known)) known = digest;
  }
  changed_.notify_all();
  return {};
}

std::string Content::take_digests(std::size_t most) {
  const std::lock_guard lock(mutex_);
  std::string records = new_digests_.substr(0, most * kCopyRecordBytes);
  new_digests_.erase(0, records.size());
  return records;
}

bool Content::has_digests() const {
  const std::lock_guard lock(mutex_);
  return !new_digests_.empty();
}

void Content::fail(Error error) {
  const std::lock_guard lock(mutex_);
  if (error.code != ErrorCode::kInterrupted && !error_) error_ = std::move(error);
  changed_.notify_all();
}

void Content::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    changed_.notify_all();
  }
  keepers_.clear();
}

bool Content::ended() const {
  const std::lock_guard lock(mutex_);
  return stopped_ || error_ || complete_;
}

std::optional<Error> Content::error() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

bool Content::complete() const {
  const std::lock_guard lock(mutex_);
  return complete_;
}

std::int64_t Content::done_bytes() const {
  const std::lock_guard lock(mutex_);
  return done_bytes_;
}

std::string Content::current_file() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

void Content::wait(std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience, [&] { return stopped_ || error_ || complete_ || !new_digests_.empty(); });
}

}  // namespace sparkplan::copy
