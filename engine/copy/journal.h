#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <utility>

#include "engine/copy/chunk_digest.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/result.h"

namespace sparkplan::copy {

/// The chunks in unfinished files, each with the digest of what was written: a log of lines in their folder. A reader
/// compares the digest with the right one. Also the directories that have no owner yet. A line that a crash has cut off
/// is ignored. Used from several threads.
class Journal {
 public:
  using Chunks = std::map<std::size_t, Digest>;

  /// Identifies a directory also after a restart of the node: an inode has another time of birth when it is used again.
  struct DirectoryId {
    std::uint64_t inode = 0;
    std::int64_t birth_ns = 0;  ///< 0: the file system does not know it.

    bool operator==(const DirectoryId&) const = default;
  };
  /// Errors: kFailed.
  static Result<DirectoryId> id_of(int directory);

  /// Errors: kFailed.
  Result<void> open(int partial_folder);
  /// Of the recorded chunks of an unfinished file, only `found` are on the disk: the others are forgotten.
  /// Errors: kFailed.
  Result<void> keep_only(const std::string& partial_name, const Chunks& found);
  /// After the last keep_only(). Until then, each process reads again what is of an earlier boot. Files that no call of
  /// keep_only() has named are forgotten, if they are of an earlier boot. Errors: kFailed.
  Result<void> confirm();
  /// The chunks of an unfinished file, as an earlier process has recorded them.
  Chunks chunks_of_file(const std::string& partial_name) const;
  /// The node has restarted since then: the disk may lack what the lines say.
  bool of_earlier_boot() const { return earlier_boot_; }
  Result<void> add(const std::string& partial_name, std::size_t chunk, const Digest& digest);
  /// Before the unfinished file is made again: its earlier chunks no longer count.
  Result<void> begin_again(const std::string& partial_name);
  /// Before a directory that this process has made gets its name in the tree. The line is on the disk when it returns.
  /// Errors: kFailed.
  Result<void> add_directory(const std::string& path, const DirectoryId& id);
  /// True if this process or an earlier one of the same unfinished sync has made exactly this directory for `path`.
  bool has_made(const std::string& path, const DirectoryId& id) const;
  /// Before other bytes are written in the place of a chunk.
  Result<void> forget(const std::string& partial_name, std::size_t chunk);

 private:
  Result<void> write(const std::string& line);
  void read(const std::string& text);

  std::mutex mutex_;
  std::map<std::string, Chunks> chunks_;
  std::map<std::string, DirectoryId> directories_;  ///< By the digest of their path.
  std::set<std::string> kept_;                      ///< Files of keep_only().
  bool earlier_boot_ = false;
  FileDescriptor file_;
};

}  // namespace sparkplan::copy
