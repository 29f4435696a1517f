#include "engine/copy/content.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <chrono>

#include "engine/copy/chunk_buffer.h"
#include "engine/copy/chunk_numbers.h"
#include "engine/copy/file_bytes.h"
#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"

namespace sparkplan::copy {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kLongestWaitForDigest{120};
/// Once the chunk's sender has gone. A digest that is on its way arrives sooner.
constexpr std::chrono::seconds kWaitWithoutSender{3};
/// Between two checks of the sender's connection.
constexpr std::chrono::milliseconds kSenderCheckInterval{500};

std::uint32_t number_at(const std::string& bytes, std::size_t at) {
  std::uint32_t number = 0;
  for (std::size_t i = 0; i < 4; ++i) number = number << 8U | static_cast<std::uint8_t>(bytes[at + i]);
  return number;
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

Result<FileDescriptor> Content::open_to_read(std::uint32_t number) {
  bool in_place = false;
  {
    const std::lock_guard lock(mutex_);
    in_place = files_[number].in_place;
  }
  if (!in_place) {
    auto opened = open_partial(files_[number], O_RDONLY);
    // The file has moved to its place. place() notes that a moment later.
    if (opened || opened.error().sys_errno != ENOENT) return opened;
  }
  return tree_.open_file(entries_[number].path, O_RDONLY);
}

/// One stamp for all chunks: else a file that changes between two of them would arrive as a mixture of both contents.
Result<void> Content::check_unchanged(int opened, std::uint32_t number) const {
  if (!source_) return {};
  const std::string& path = entries_[number].path;
  SPARK_TRY(const FileStamp now, stamp_of_open(opened, path));
  if (now == files_[number].stamp) return {};
  return failure(ErrorCode::kStalePlan, shown_text(path) + " changes while it is read");
}

Result<ChunkBytes> Content::read_from_disk(ChunkId id) {
  const CopyEntry& entry = entries_[id.file];
  SPARK_TRY(const auto opened, open_to_read(id.file));
  auto bytes = chunk_buffer(size_of(id));
  SPARK_CHECK(check_unchanged(opened.get(), id.file));
  Digest digest{};
  if (source_ && !knows_digest(id)) {
    SPARK_TRY(digest, of_file(read_with_digest(opened.get(), *bytes, offset_of(id)), entry.path));
  } else {
    SPARK_CHECK(of_file(read_at(opened.get(), *bytes, offset_of(id)), entry.path));
  }
  if (!source_) return bytes;
  SPARK_CHECK(check_unchanged(opened.get(), id.file));
  drop_from_cache(opened.get(), offset_of(id), bytes->size());
  if (!is_known(digest)) return bytes;
  index_.add(entry.path, files_[id.file].stamp, files_[id.file].digests.size(), id.chunk, digest);
  note_digest(id, digest);
  return bytes;
}

void Content::note_digest(ChunkId id, const Digest& digest) {
  const std::lock_guard lock(mutex_);
  Digest& known = files_[id.file].digests[id.chunk];
  if (is_known(known)) return;
  known = digest;
  append_number(new_digests_, id.file);
  append_number(new_digests_, id.chunk);
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

/// The next node asks on as many connections as this one, each for a chunk while another one travels.
void Content::put_in_cache(ChunkId id, ChunkBytes bytes) {
  static const std::size_t kMostCached = 2 * copy_streams_for(std::thread::hardware_concurrency());
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
  return take_first();
}

std::optional<Wanted> Content::take_now() {
  const std::lock_guard lock(mutex_);
  return take_first();
}

/// With the lock. take() keeps it after its wait: else another connection could take the chunk, and the one that finds
/// nothing would end.
std::optional<Wanted> Content::take_first() {
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
  auto bytes = chunk_buffer(wanted.bytes);
  const auto opened = tree_.open_file(entries_[wanted.id.file].path, O_RDONLY);
  return opened && read_at(opened->get(), *bytes, offset_of(wanted.id)) && deliver(wanted, bytes);
}

Result<void> Content::await_digest(ChunkId id, Digest& digest, const std::function<bool()>& is_connected) {
  std::unique_lock lock(mutex_);
  const auto known = [&] { return stopped_ || error_ || is_known(files_[id.file].digests[id.chunk]); };
  auto end = Clock::now() + kLongestWaitForDigest;
  bool has_sender = true;
  while (!changed_.wait_until(lock, std::min(end, Clock::now() + kSenderCheckInterval), known)) {
    const auto now = Clock::now();
    if (has_sender && is_connected && !is_connected()) {
      has_sender = false;
      end = std::min<Clock::time_point>(end, now + kWaitWithoutSender);
    }
    if (now < end) continue;
    return failure(ErrorCode::kUnreachable,
                   has_sender ? "the digest of a chunk did not arrive in time" : "the other node ended the connection");
  }
  if (stopped_ || error_) return failure(ended_error());
  digest = files_[id.file].digests[id.chunk];
  return {};
}

bool Content::knows_digest(ChunkId id) const {
  const std::lock_guard lock(mutex_);
  return is_known(files_[id.file].digests[id.chunk]);
}

Result<void> Content::deliver(const Wanted& wanted, std::shared_ptr<std::vector<char>> bytes) {
  const Digest digest = digest_of(bytes->data(), bytes->size());
  return deliver(wanted, std::move(bytes), digest);
}

Result<void> Content::deliver(const Wanted& wanted, std::shared_ptr<std::vector<char>> bytes, const Digest& digest,
                              const std::function<bool()>& is_connected) {
  const ChunkId id = wanted.id;
  Digest right{};
  SPARK_CHECK(await_digest(id, right, is_connected));
  if (digest != right) {
    return failure(ErrorCode::kVerifyFailed, "chunk " + std::to_string(id.chunk) + " of " +
                                                 shown_text(entries_[id.file].path) + " has another digest");
  }
  SPARK_CHECK(write_chunk(id, *bytes, digest));
  const std::lock_guard lock(mutex_);
  put_in_cache(id, std::move(bytes));
  set_verified(wanted);
  return {};
}

/// With the lock.
void Content::set_verified(const Wanted& wanted) {
  files_[wanted.id.file].has[wanted.id.chunk] = Has::kVerified;
  --taken_;
  done_bytes_ += static_cast<std::int64_t>(wanted.bytes);
  early_.erase(wanted.id);
  to_keep_.push_back(wanted.id);
  changed_.notify_all();
}

Result<void> Content::write_early(const Wanted& wanted, const std::vector<char>& bytes, const Digest& digest) {
  SPARK_CHECK(write_chunk(wanted.id, bytes, digest));
  const std::lock_guard lock(mutex_);
  early_[wanted.id] = digest;
  return {};
}

bool Content::take_written(const Wanted& wanted) {
  const std::lock_guard lock(mutex_);
  const auto found = early_.find(wanted.id);
  const Digest& right = files_[wanted.id.file].digests[wanted.id.chunk];
  if (found == early_.end() || !is_known(right) || found->second != right) return false;
  set_verified(wanted);
  return true;
}

/// Does nothing if write_early() has written these bytes. An error ends the transfer.
Result<void> Content::write_chunk(ChunkId id, const std::vector<char>& bytes, const Digest& digest) {
  bool replaces = false;
  {
    const std::lock_guard lock(mutex_);
    const auto found = early_.find(id);
    replaces = found != early_.end();
    if (replaces && found->second == digest) return {};
  }
  auto written = replaces ? journal_.forget(files_[id.file].partial, id.chunk) : Result<void>();
  if (written) written = put_in_file(id, bytes, digest);
  if (!written) fail(written.error());
  return written;
}

Result<void> Content::put_in_file(ChunkId id, const std::vector<char>& bytes, const Digest& digest) {
  const File& file = files_[id.file];
  SPARK_TRY(const auto opened, open_partial(file, O_WRONLY));
  const CopyEntry& entry = entries_[id.file];
  const std::lock_guard one_writer(writing_[id.file % writing_.size()]);
  SPARK_CHECK(check_space(opened.get(), id));
  SPARK_CHECK(of_file(entry.sparse ? write_without_zeros(opened.get(), bytes, offset_of(id))
                                   : write_at(opened.get(), bytes, offset_of(id)),
                      entry.path));
  return journal_.add(file.partial, id.chunk, digest);
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
  return begun_ ? done_bytes_ : 0;  // begin() counts without the lock.
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
