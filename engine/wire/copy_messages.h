#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/container_image.h"
#include "engine/model/fields.h"
#include "engine/wire/build_id.h"

/// The messages between the controller and the program that copies directory trees (sparkplan-copy), as frames. The
/// program greets first. One process works on one tree and ends when its input ends. Data never passes through these
/// frames: it flows between the nodes, over connections that CopyServe and CopyFetch describe.
namespace sparkplan {

/// The size of a chunk. The last chunk of a file may be shorter.
inline constexpr std::int64_t kCopyChunk = std::int64_t{8} << 20;
/// The length of a chunk's digest (SHA-256), of a token and of a record in CopyDigests.
inline constexpr std::size_t kCopyDigestBytes = 32;
inline constexpr std::size_t kCopyTokenBytes = 32;
inline constexpr std::size_t kCopyRecordBytes = 8 + kCopyDigestBytes;
/// Bounds of one tree and of one frame.
inline constexpr std::size_t kMostCopyEntries = 120'000;
inline constexpr std::size_t kMostEntriesInFrame = 500;
/// The kernel's PATH_MAX counts the end of the text. Longer paths below a tree, and longer targets, cannot be made.
inline constexpr std::size_t kLongestCopyPath = 4095;
/// Directories of a tree, one in the other.
inline constexpr std::size_t kDeepestCopyTree = 64;
inline constexpr std::size_t kMostCopyStreams = 16;
inline constexpr std::size_t kMostCopyTrees = 1000;
/// The engines allow 127.
inline constexpr std::size_t kMostImageLayers = 500;
/// A file of 2 TiB: its digests fit into a message.
inline constexpr std::int64_t kLargestCopyFile = std::int64_t{1} << 41U;
/// The chunks of all files of a tree (4 TB). The controller keeps their digests up to three times: of the listing, of
/// those that came later, and until a file has all of them. That is 52 MB.
inline constexpr std::int64_t kMostCopyChunks = 500'000;
/// The most chunks of a tree with so many names. In the controller, a name takes the memory of three chunks or more,
/// and a tree with most of both would take more than the 100 MB for one hostile node.
constexpr std::int64_t most_chunks_with(std::size_t names) {
  return kMostCopyChunks - 3 * static_cast<std::int64_t>(names);
}
/// The bytes of all names, links' targets and owners of a tree. With that, a listing takes less than 60 MB of memory.
/// It fits into the 100 MB for one hostile node beside the program (15 MiB) and the report of a plan (20 MB).
inline constexpr std::size_t kMostCopyNameBytes = std::size_t{10} << 20;

/// The program's first message.
struct CopyHello : ProgramHello {
  static constexpr std::string_view kName = "hello";
};

enum class CopyTreeKind : std::uint8_t {
  kDirectory,
  /// A model of a Hugging Face cache. Unfinished downloads and locks are not listed; the names in refs come last.
  kHub,
  /// The archive of a container image, in a directory of sparkplan. `path` is its name there: hexadecimal digits.
  kImage,
};
constexpr EnumNames<3> names_of(CopyTreeKind /*kind*/) { return {"directory", "hub", "image"}; }

/// Opens the tree, for the life of the process.
struct CopyOpen {
  static constexpr std::string_view kName = "open";
  std::string path;   ///< Absolute, without ".."; "~/" begins the home of the process's user.
  std::string owner;  ///< The process works as this user; empty: as the user who started it.
  CopyTreeKind kind = CopyTreeKind::kDirectory;
  bool write = false;     ///< Takes the tree's lock. Makes the directory if it is absent, unless `existing`.
  bool existing = false;  ///< Only what is there: for CopyPrune.
  std::int64_t rate = 0;  ///< Bytes per second in each direction; 0: no limit.
};
/// The answer to CopyOpen.
struct CopyOpened {
  static constexpr std::string_view kName = "opened";
  std::string path;  ///< Without links and "~", as far as it exists.
  bool exists = false;
  bool was_received = false;       ///< An earlier sync brought this tree here.
  std::int64_t free_bytes = 0;     ///< For this user, on the tree's file system.
  std::int64_t partial_bytes = 0;  ///< Of files that an interrupted sync has begun.
};

enum class CopyKind : std::uint8_t { kDirectory, kFile, kLink };
constexpr EnumNames<3> names_of(CopyKind /*kind*/) { return {"directory", "file", "link"}; }

/// One name below the tree.
struct CopyEntry {
  std::string path;  ///< Relative to the tree; never empty, absolute, or with "." or "..".
  CopyKind kind = CopyKind::kFile;
  std::int64_t size = 0;
  int mode = 0;               ///< Permission bits, without setuid, setgid and sticky.
  std::int64_t mtime_ns = 0;  ///< Since 1970.
  std::string user;
  std::string group;
  std::string target;   ///< Of a link: relative, and within the tree.
  bool sparse = false;  ///< A file with holes.
  /// Bytes of a sparse file that take no space on this node's disk: at most `size`.
  std::int64_t holes = 0;
  bool last = false;    ///< Placed after all others, because its name makes the tree valid.
  std::string sum;      ///< SHA-256 over the digests of all chunks; empty if one of them is not known.
  std::string digests;  ///< The digests of all chunks, one after another; a zero digest is not known.
};

/// The directory itself, which is no entry of its tree.
struct CopyRoot {
  int mode = 0;  ///< As of CopyEntry.
  std::int64_t mtime_ns = 0;
  std::string user;
  std::string group;
};

/// Lists the tree. `read` computes digests that are not known; `ignore_known` computes all of them again.
struct CopyLook {
  static constexpr std::string_view kName = "look";
  bool read = false;
  bool ignore_known = false;
  bool chunks = false;             ///< Entries contain `digests`.
  std::vector<std::string> paths;  ///< For `read`: only these files; empty: all.
};
/// A part of the answer to CopyLook.
struct CopyEntries {
  static constexpr std::string_view kName = "entries";
  std::vector<CopyEntry> entries;
};
/// The end of the answer to CopyLook.
struct CopyLooked {
  static constexpr std::string_view kName = "looked";
  std::vector<std::string> changed;   ///< Files that changed or vanished after a sync brought them; the first 100.
  std::optional<CopyRoot> root = {};  ///< The directory of the tree.
};

/// A part of the tree that this process is to serve or to receive: the source's entries.
struct CopyExpect {
  static constexpr std::string_view kName = "expect";
  std::vector<CopyEntry> entries;
};
/// The entries are complete. A source serves them; a receiver compares them with what it has.
struct CopyBegin {
  static constexpr std::string_view kName = "begin";
  bool source = false;
  bool replace = false;  ///< Files with other content may be replaced.
  /// For a receiver: the source's directory. One that a sync has made here gets its owner, mode and time.
  std::optional<CopyRoot> root = {};
};
struct CopyBegun {
  static constexpr std::string_view kName = "begun";
  std::int64_t missing_bytes = 0;  ///< To be received over the network.
  std::int64_t needed_bytes = 0;   ///< To be written.
  std::int64_t free_bytes = 0;
  std::int64_t processors = 0;  ///< Of the machine; 0: not known.
};
inline constexpr std::int64_t kMostProcessors = 65536;
/// The number of connections, from the processors of the slower machine. Each connection
/// keeps one of them busy with digests, and one is left to the others. Small machines share fewer among them.
constexpr std::size_t copy_streams_for(std::int64_t processors) {
  constexpr std::int64_t kFewest = 8;
  return static_cast<std::size_t>(std::clamp(processors - 1, kFewest, static_cast<std::int64_t>(kMostCopyStreams)));
}

/// Asks for the trees to which earlier syncs have brought names, and for the archives of images that they have left.
/// Instead of CopyOpen.
struct CopyListTrees {
  static constexpr std::string_view kName = "list_trees";
};
struct CopyTree {
  std::string path;                              ///< As CopyOpen had it, without "~".
  std::string real_path;                         ///< Without links, if it exists.
  std::string owner;                             ///< As CopyOpen had it.
  CopyTreeKind kind = CopyTreeKind::kDirectory;  ///< kImage: an archive of an image. CopyOpen has the same kind then.
  std::string image = {};                        ///< The name of the image that a sync has loaded from the archive, ...
  std::string image_id = {};                     ///< ... and its id.
};
/// The answer to CopyListTrees.
struct CopyTrees {
  static constexpr std::string_view kName = "trees";
  std::vector<CopyTree> trees;
};

/// Removes the names that syncs have brought to the open tree and that have not changed since; of kind kImage the
/// archive, also an unfinished one. Only counts them without `remove`.
struct CopyPrune {
  static constexpr std::string_view kName = "prune";
  bool remove = false;
  bool image = false;  ///< Also the image that was loaded from the archive, unless it has got another name.
};
/// The answer to CopyPrune.
struct CopyPruned {
  static constexpr std::string_view kName = "pruned";
  std::int64_t files = 0;
  std::int64_t bytes = 0;
  std::int64_t kept_files = 0;    ///< Brought by a sync and changed since.
  std::vector<std::string> kept;  ///< The first 100 of them.
};
/// Forgets what syncs have brought to a tree. Removes its directory if a sync made it and it is empty. Instead of
/// CopyOpen.
struct CopyForget {
  static constexpr std::string_view kName = "forget";
  std::string path;        ///< As CopyOpen had it, and not CopyOpened.
  std::string owner = {};  ///< As CopyOpen had it, and so the kind.
  CopyTreeKind kind = CopyTreeKind::kDirectory;
  bool image = false;  ///< Otherwise the record of a loaded image stays.
};
/// The answer to CopyForget.
struct CopyForgotten {
  static constexpr std::string_view kName = "forgotten";
};

/// Joins one connection to a port of the machine's loopback with the standard streams of the process: from the answer
/// CopyServing on, they carry no frames. Only the connection that begins with the token is joined. Instead of CopyOpen.
struct CopyJoin {
  static constexpr std::string_view kName = "join";
  std::string token;  ///< kCopyTokenBytes; it is passed on with the other bytes.
};

enum class CopyImageAction : std::uint8_t {
  /// Instead of CopyOpen, and repeatedly for one owner. The others need an open tree of kind kImage, which CopyPrune
  /// empties.
  kLook,
  kSave,   ///< Writes the image's archive into the tree, unless it is there.
  kLoad,   ///< Checks the archive and loads it.
  kSpace,  ///< Looks for the free space in the engine's storage, and not at the image.
};
constexpr EnumNames<4> names_of(CopyImageAction /*action*/) { return {"look", "save", "load", "space"}; }
/// Asks the container engine of this machine for an image, as the user of the process.
struct CopyImage {
  static constexpr std::string_view kName = "image";
  CopyImageAction action = CopyImageAction::kLook;
  ContainerEngine engine = ContainerEngine::kDocker;
  std::string name;
  std::string owner;    ///< For kLook, as in CopyOpen.
  std::string id = {};  ///< For kLoad: the only image that the archive may contain; see CopyImageState::id.
  /// For kLook: the layers of the source's image, to be looked for in all images of this engine.
  std::vector<std::string> layers = {};
  /// For kSave and kLoad: the archive may lack the content of so many layers, from the first one on. For kSave that
  /// needs `id`.
  std::int64_t left_out = 0;
};
/// The answer to CopyImage: the image after it.
struct CopyImageState {
  static constexpr std::string_view kName = "image_state";
  std::string id;          ///< 64 hexadecimal digits; empty: there is no such image.
  std::int64_t bytes = 0;  ///< Unpacked.
  /// The digests of its unpacked layers: 64 hexadecimal digits each. Empty if they are not known.
  std::vector<std::string> layers = {};
  std::int64_t known_layers = 0;  ///< Of CopyImage::layers: so many, from the first one on, need not be sent.
  /// For kSpace: the directory of the engine's storage; empty: not known.
  std::string store = {};
  /// On the file system of `store`. If `store_shared`, the archive is on it too, and what the node has of the archive
  /// counts as free.
  std::int64_t store_free_bytes = 0;
  bool store_shared = false;
};

/// Listens for the peer's connections: one per token.
struct CopyServe {
  static constexpr std::string_view kName = "serve";
  std::int64_t link = 0;
  std::string address;  ///< Own IP address.
  std::string peer;     ///< The only accepted IP address.
  std::string tokens;   ///< kCopyTokenBytes each, for one connection each.
  std::string keys;     ///< For AES-256-GCM, as long as `tokens`: one per connection. Empty: not encrypted.
};
struct CopyServing {
  static constexpr std::string_view kName = "serving";
  std::int64_t link = 0;
  int port = 0;
};
/// Connects to a peer that serves, and fetches what is missing.
struct CopyFetch {
  static constexpr std::string_view kName = "fetch";
  std::int64_t link = 0;
  std::string address;  ///< The peer's.
  int port = 0;
  std::string own;  ///< Own IP address, from which to connect.
  std::string tokens;
  std::string keys;  ///< As in CopyServe.
};
/// Ends the connections of a CopyFetch or of a CopyServe. What they have not brought is fetched over other links. No
/// CopyLinkLost follows.
struct CopyDrop {
  static constexpr std::string_view kName = "drop";
  std::int64_t link = 0;
};
/// Digests that became known: 4 bytes of the file's place among the entries, 4 of the chunk's, both big-endian, and the
/// digest. From a source, and to receivers.
struct CopyDigests {
  static constexpr std::string_view kName = "digests";
  std::string records;
};

/// Sent every second during a transfer, also while it begins, and during a CopyLook.
struct CopyProgress {
  static constexpr std::string_view kName = "progress";
  std::int64_t done_bytes = 0;      ///< Present and verified.
  std::int64_t received_bytes = 0;  ///< Over the network, by this process.
  std::int64_t sent_bytes = 0;
  std::int64_t read_bytes = 0;  ///< Read from the disk, by a CopyLook that reads or to check what was received.
  std::string doing;            ///< The current file.
};
/// All connections of a link have ended before the transfer was complete.
struct CopyLinkLost {
  static constexpr std::string_view kName = "link_lost";
  std::int64_t link = 0;
  Error error;
};
/// Every file is in place.
struct CopyComplete {
  static constexpr std::string_view kName = "complete";
  std::int64_t received_bytes = 0;
};
/// The tree as a whole failed; the process ends.
struct CopyFailure {
  static constexpr std::string_view kName = "failure";
  Error error;
};
/// A sign of life.
struct CopyAlive {
  static constexpr std::string_view kName = "alive";
};

using CopyCommand = std::variant<CopyOpen, CopyLook, CopyExpect, CopyBegin, CopyServe, CopyFetch, CopyDigests,
                                 CopyAlive, CopyDrop, CopyListTrees, CopyPrune, CopyForget, CopyImage, CopyJoin>;
using CopyAnswer =
    std::variant<CopyHello, CopyOpened, CopyEntries, CopyLooked, CopyBegun, CopyServing, CopyDigests, CopyProgress,
                 CopyLinkLost, CopyComplete, CopyFailure, CopyTrees, CopyPruned, CopyForgotten, CopyImageState>;

/// A path below a tree: relative, of UTF-8, without empty parts, "." and "..", and not of the folder that keeps
/// unfinished files.
bool is_path_below_tree(std::string_view path);
/// True if a listing of the tree stops before it reaches this name: it is a directory at a level below
/// kDeepestCopyTree, or it is in one.
bool is_too_deep(std::string_view path, CopyKind kind);
/// A name that the tools of the hub give to a file beside the blobs of a model while they work. A tree of kind kHub
/// does not list it.
bool is_transient_blob(std::string_view path);
/// True if the link at `path` leads to a name within the tree: relative, never above its root. ".." may only be at the
/// beginning: behind a name that is itself a link it would lead elsewhere than it reads.
bool stays_in_tree(std::string_view path, std::string_view target);
/// A name that no container engine takes for a flag or for a digest.
bool is_image_name(std::string_view name);
/// An absolute path that can be printed as it is.
bool is_engine_folder(std::string_view path);
/// The folder in a tree that keeps unfinished files.
inline constexpr std::string_view kPartialFolder = ".sparkplan-partial";
/// The only file in a tree of kind kImage.
inline constexpr std::string_view kImageArchive = "image.tar";

/// The number of chunks of a file.
constexpr std::int64_t chunks_of(std::int64_t size) { return (size + kCopyChunk - 1) / kCopyChunk; }

void list_fields(FieldVisitor& field, CopyOpen& command);
void list_fields(FieldVisitor& field, CopyOpened& answer);
void list_fields(FieldVisitor& field, CopyEntry& entry);
void list_fields(FieldVisitor& field, CopyRoot& root);
void list_fields(FieldVisitor& field, CopyLook& command);
void list_fields(FieldVisitor& field, CopyEntries& answer);
void list_fields(FieldVisitor& field, CopyLooked& answer);
void list_fields(FieldVisitor& field, CopyExpect& command);
void list_fields(FieldVisitor& field, CopyBegin& command);
void list_fields(FieldVisitor& field, CopyBegun& answer);
void list_fields(FieldVisitor& field, CopyServe& command);
void list_fields(FieldVisitor& field, CopyServing& answer);
void list_fields(FieldVisitor& field, CopyFetch& command);
void list_fields(FieldVisitor& field, CopyDrop& command);
void list_fields(FieldVisitor& field, CopyDigests& message);
void list_fields(FieldVisitor& field, CopyProgress& answer);
void list_fields(FieldVisitor& field, CopyLinkLost& answer);
void list_fields(FieldVisitor& field, CopyComplete& answer);
void list_fields(FieldVisitor& field, CopyFailure& answer);
void list_fields(FieldVisitor& field, CopyJoin& command);
void list_fields(FieldVisitor& field, CopyTree& tree);
void list_fields(FieldVisitor& field, CopyTrees& answer);
void list_fields(FieldVisitor& field, CopyPrune& command);
void list_fields(FieldVisitor& field, CopyPruned& answer);
void list_fields(FieldVisitor& field, CopyForget& command);
void list_fields(FieldVisitor& field, CopyImage& command);
void list_fields(FieldVisitor& field, CopyImageState& answer);
void list_fields(FieldVisitor& field, CopyCommand& command);
void list_fields(FieldVisitor& field, CopyAnswer& answer);

}  // namespace sparkplan
