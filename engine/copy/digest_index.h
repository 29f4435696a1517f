#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "engine/copy/chunk_digest.h"
#include "engine/copy/tree.h"
#include "engine/core/file_descriptor.h"
#include "engine/core/result.h"
#include "engine/model/container_image.h"

namespace sparkplan::copy {

/// The digests of files that were read or written before, so that no file is read twice. A file whose size, times or
/// inode have changed since then is unknown. The index is a log of lines; a line that a crash has cut off is ignored.
/// Used from several threads.
class DigestIndex {
 public:
  struct Record {
    FileStamp stamp;
    std::vector<Digest> digests;
    bool received = false;  ///< A sync brought the file, or found it equal.
    bool brought = false;   ///< A sync brought exactly this file.
  };
  enum class Came : std::uint8_t { kEqual, kReceived };
  /// How the tree was opened, for its removal.
  struct Origin {
    std::string path;
    std::string owner;
    bool made = false;  ///< A sync made the directory.
    /// Of the stage of an image: what was loaded from it. Empty: nothing, or an image that was there before.
    std::string image = {};
    std::string image_id = {};
    ContainerEngine engine = ContainerEngine::kDocker;

    bool operator==(const Origin&) const = default;
  };

  /// Opens the index of the tree at `path`. With `write` it takes the tree's lock, and makes the file. Without an
  /// index, or without the right to read it, all files are unknown.
  /// Errors: kBusy (another process writes to the tree), kFailed.
  static Result<DigestIndex> open(const std::string& path, bool write);
  /// The index that a text contains, without a file. Without `with_digests` it has names only, because digests are most
  /// of an index.
  static DigestIndex of_text(const std::string& text, bool with_digests);
  DigestIndex(DigestIndex&& other) noexcept;

  /// The digests of a file with this stamp; those of unknown chunks are zero. `chunks` digests in any case.
  std::vector<Digest> find(const std::string& path, const FileStamp& stamp, std::size_t chunks) const;
  /// All records, for the search for changed files.
  std::map<std::string, Record> records() const;
  /// Adds one chunk of a file that is being read.
  void add(const std::string& path, const FileStamp& stamp, std::size_t chunks, std::size_t chunk,
           const Digest& digest);
  /// Adds a whole file.
  void add(const std::string& path, const FileStamp& stamp, const std::vector<Digest>& digests, Came came);

  /// True if a sync brought the file and it has not changed since.
  bool is_brought(const std::string& path, const FileStamp& stamp) const;
  /// True if a sync brought any file or link.
  bool has_brought() const;
  /// Links and directories that syncs have made.
  std::map<std::string, std::string> links() const;
  std::set<std::string> directories() const;
  void add_link(const std::string& path, const std::string& target);
  void add_directory(const std::string& path);
  std::optional<Origin> origin() const;
  void set_origin(Origin origin);

 private:
  struct Entry {
    Record record;
    std::size_t number = 0;  ///< Of its line in the file.
  };
  DigestIndex() = default;
  void read(const std::string& text);
  void read_line(std::string_view line);
  void compact(const std::string& file_name);
  void note_link(const std::string& path, const std::string& target);
  void read_name(const std::vector<std::string_view>& words);
  std::string lines_of(const std::string& path, const Record& record);
  void write(const std::string& lines);

  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::vector<std::string> numbered_;  ///< Paths by the number of their line.
  std::map<std::string, std::string> links_;
  std::set<std::string> directories_;
  std::optional<Origin> origin_;
  std::size_t lines_ = 0;
  bool with_digests_ = true;  ///< See of_text().
  std::size_t chunks_ = 0;    ///< Of all records that were read.
  FileDescriptor file_;
  bool is_cut_off_ = false;  ///< A line could not be written, as on a full disk: no more are.
};

/// The trees that have an index of this user, as far as syncs brought anything there, and the stages of images. At most
/// kMostCopyTrees.
std::vector<DigestIndex::Origin> recorded_trees();
/// Removes the index of a tree. Errors: kBusy, kFailed.
Result<void> forget_tree(const std::string& path);

/// The directory of the indexes: of root, or of another user.
std::string state_directory();

}  // namespace sparkplan::copy
