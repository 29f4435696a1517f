#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "engine/copy/accounts.h"
#include "engine/copy/chunk_digest.h"
#include "engine/copy/chunk_order.h"
#include "engine/copy/digest_index.h"
#include "engine/copy/journal.h"
#include "engine/copy/tree.h"
#include "engine/core/result.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

using ChunkBytes = std::shared_ptr<const std::vector<char>>;

/// The files of one transfer on one node: what is there, what is missing, and what is verified. A source has
/// everything. A receiver writes chunks, and serves and counts those whose digest is right. It reads them again from
/// the disk, and gives a file its name only when it is whole. Used from many threads. The first error ends the
/// transfer.
class Content {
 public:
  /// Bytes that are free for this user on the tree's file system.
  using FreeBytes = std::function<std::int64_t()>;
  /// A transfer stops when about so many bytes are free. At its beginning, twice as many must stay free: a file system
  /// also needs space for its own records.
  static constexpr std::int64_t kLeastFree = std::int64_t{32} << 20;

  /// `owner`: of all files; without one they belong to the owners on the source, if this process is root.
  /// `free_bytes`: asked while the transfer writes; empty: Tree::free_bytes().
  Content(Tree& tree, DigestIndex& index, const std::optional<Account>& owner = std::nullopt, FreeBytes free_bytes = {})
      : tree_(tree), index_(index), owner_(owner), free_bytes_(std::move(free_bytes)) {}
  Content(const Content&) = delete;
  Content& operator=(const Content&) = delete;
  ~Content();

  /// Before begin(). Errors: kInvalidInput (too many, a name twice).
  Result<void> expect(std::vector<CopyEntry> entries);
  /// Errors: kRefused (a file with other content, without `replace`; a name of another kind), kStalePlan (a source's
  /// file is not the one that was listed), kNotFound (this node lacks the owner of a name), kFailed.
  Result<CopyBegun> begin(const CopyBegin& command);

  /// Waits until this node has the chunk. Errors: kInterrupted (the transfer has ended), kInvalidInput (no such chunk),
  /// others if it cannot be read.
  Result<ChunkBytes> read(ChunkId id);
  bool is_sparse(ChunkId id) const { return entries_[id.file].sparse; }

  /// The next chunk to fetch; waits while others fetch the last ones. Nothing when there is no more to fetch.
  std::optional<Wanted> take();
  /// Nothing also if a wait would be necessary.
  std::optional<Wanted> take_now();
  /// A chunk that was taken was not fetched.
  void give_back(const Wanted& wanted);
  /// Copies a `local` chunk from the file that is to be replaced. False if it has other content there.
  bool take_from_old_file(const Wanted& wanted);
  /// Verifies a chunk against the digest from the controller, and writes it if write_early() has not.
  /// Errors: kVerifyFailed (the digest differs), kInterrupted, kFailed.
  Result<void> deliver(const Wanted& wanted, std::shared_ptr<std::vector<char>> bytes);
  /// As above. `digest`: of the bytes. `is_connected`: whether the chunk's sender is still there; asked during a wait.
  /// One that has gone may be the node that computes the digests: then the wait is short.
  Result<void> deliver(const Wanted& wanted, std::shared_ptr<std::vector<char>> bytes, const Digest& digest,
                       const std::function<bool()>& is_connected = {});
  /// False: deliver() would wait for the digest from the controller.
  bool knows_digest(ChunkId id) const;
  /// Writes a chunk whose digest has not come from the controller, so that an interruption does not lose it. The chunk
  /// counts only once deliver(), take_written() or the next process has found its digest right. Errors: kFailed.
  Result<void> write_early(const Wanted& wanted, const std::vector<char>& bytes, const Digest& digest);
  /// Ends the wait for a chunk that was given back after write_early(). False: it has to be fetched again.
  bool take_written(const Wanted& wanted);

  /// Digests from the controller. Errors: kInvalidInput.
  Result<void> learn(const std::string& records);
  /// Digests that this source has computed since the last call, as in CopyDigests. At most `most` records.
  std::string take_digests(std::size_t most);
  bool has_digests() const;

  void fail(Error error);
  void stop();
  bool ended() const;
  std::optional<Error> error() const;
  bool complete() const;
  std::int64_t done_bytes() const;
  /// Read from the disk to check what was received. Also during begin().
  std::int64_t checked_bytes() const { return checked_bytes_; }
  std::string current_file() const;
  /// Waits for an event: digests to send, the end, or `patience`.
  void wait(std::chrono::milliseconds patience);

 private:
  enum class Has : std::uint8_t { kNothing, kTaken, kVerified };
  struct File {
    std::vector<Digest> digests;
    std::vector<Has> has;
    std::vector<Digest> old;    ///< Of the file in place, which is to be replaced.
    std::size_t unchecked = 0;  ///< Chunks that were not read again from the disk.
    std::string partial;        ///< The name in the folder of unfinished files; empty: in place.
    bool in_place = false;
    FileStamp stamp;  ///< Of a source's file, as the transfer began.
  };

  std::size_t size_of(ChunkId id) const;
  std::int64_t offset_of(ChunkId id) const { return static_cast<std::int64_t>(id.chunk) * kCopyChunk; }
  bool exists(ChunkId id) const;
  Result<FileDescriptor> open_to_read(std::uint32_t number);
  Result<void> check_unchanged(int opened, std::uint32_t number) const;
  Result<ChunkBytes> read_from_disk(ChunkId id);
  Result<void> write_chunk(ChunkId id, const std::vector<char>& bytes, const Digest& digest);
  Result<void> put_in_file(ChunkId id, const std::vector<char>& bytes, const Digest& digest);
  std::optional<Wanted> take_first();
  void set_verified(const Wanted& wanted);
  Result<void> await_digest(ChunkId id, Digest& digest, const std::function<bool()>& is_connected);
  void note_digest(ChunkId id, const Digest& digest);
  void put_in_cache(ChunkId id, ChunkBytes bytes);
  ChunkBytes from_cache(ChunkId id) const;

  // content_begin.cc: what is there, and what is missing.
  /// Errors: kNotFound: this node lacks the user or group of an entry that it is to give away.
  Result<void> check_owners() const;
  /// A directory that a sync has made and that is still empty gets its owner and rights before its first file, so that
  /// no other user enters it and no interruption leaves it without them. True if it got them.
  Result<bool> begin_root();
  /// After begin_root(): keeps `root_` only if a sync has made the directory. Errors: kNotFound (this node lacks its
  /// owner), kFailed.
  Result<void> record_root(bool is_new);
  Result<void> begin_source(std::uint32_t number);
  Result<void> begin_receiver(std::uint32_t number, bool replace, CopyBegun& begun);
  Result<void> begin_directory(const CopyEntry& entry);
  Result<bool> make_directory_in_private(const CopyEntry& entry);
  Result<void> begin_partial(std::uint32_t number, CopyBegun& begun);
  /// Before the chunk is written to its unfinished file. Errors: kFailed with ENOSPC: it would take from the last free
  /// bytes. That ends the transfer.
  Result<void> check_space(int unfinished, ChunkId id);
  Error no_space_for(ChunkId id, std::int64_t free);
  void find_again(int partial, const std::vector<ChunkId>& recorded);
  Result<bool> is_in_place(std::uint32_t number, bool replace);
  Result<FileDescriptor> open_partial(const File& file, int flags) const;

  // content_end.cc: from the verified chunk to the file in its place.
  Result<void> start_keepers();
  void keep();
  Result<void> keep_chunk(ChunkId id);
  Result<void> check_chunk(ChunkId id);
  Result<void> place_small_files();
  Result<void> place(std::uint32_t number, bool synced);
  Result<void> place_link(const CopyEntry& entry);
  /// The user and group that an entry is to have. Errors: kNotFound.
  Result<std::pair<uid_t, gid_t>> owner_of(const CopyEntry& entry) const;
  /// False: the file has other names and another mode or owner. sparkplan gives its files one name, so a user may have
  /// linked a file of another user here, to have it changed.
  Result<bool> may_give_properties(const struct stat& status, const CopyEntry& entry) const;
  Result<void> give_properties(int file, const CopyEntry& entry) const;
  /// Root only. Errors: kRefused: this sync did not make the directory, and it has another owner than listed. Another
  /// user may have moved it to this name, to have it given away.
  Result<void> check_may_give(int directory, const CopyEntry& entry) const;
  Result<void> finish();
  Result<void> finish_directories();
  Result<void> finish_root();

  Tree& tree_;
  DigestIndex& index_;
  const std::optional<Account> owner_;
  const FreeBytes free_bytes_;
  std::vector<CopyEntry> entries_;
  std::map<std::string, std::uint32_t> places_;
  std::atomic<std::int64_t> checked_bytes_{0};
  std::optional<CopyEntry> root_;  ///< The directory itself, as on the source; after record_root(): if a sync made it.
  bool source_ = false;
  bool replace_ = false;
  FileDescriptor partial_;
  Journal journal_;
  /// The kernel lets one thread at a time write to a file. Those that wait for it there keep a processor busy.
  std::array<std::mutex, 16> writing_;
  std::mutex space_mutex_;
  std::int64_t may_write_ = 0;  ///< Bytes, until the free space is asked for again.

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<File> files_;
  std::deque<Wanted> wanted_;
  std::map<ChunkId, Digest> early_;  ///< Written, and not compared with the right digest.
  std::size_t taken_ = 0;
  std::size_t keeping_ = 0;  ///< Chunks that keepers read again.
  bool finishing_ = false;
  std::size_t unplaced_ = 0;  ///< Files, without those that come last.
  std::size_t unplaced_last_ = 0;
  std::vector<std::uint32_t> small_ready_;  ///< Whole files of one chunk, to be synced together.
  std::vector<std::uint32_t> last_ready_;   ///< Whole files that are placed at the end.
  std::deque<ChunkId> to_keep_;
  std::string new_digests_;
  std::map<ChunkId, ChunkBytes> cache_;
  std::deque<ChunkId> cached_;
  std::int64_t done_bytes_ = 0;
  std::string current_;
  std::optional<Error> error_;
  bool stopped_ = false;
  bool begun_ = false;
  bool complete_ = false;
  std::vector<std::jthread> keepers_;
};

}  // namespace sparkplan::copy
