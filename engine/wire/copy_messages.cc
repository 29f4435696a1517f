#include "engine/wire/copy_messages.h"

#include <algorithm>

#include "engine/core/bounded_text.h"
#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/model/resource.h"

namespace sparkplan {
namespace {

constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
/// The digests of the largest file, in base64; a message has at most 16 MiB.
constexpr std::size_t kLongestDigests = std::size_t{12} << 20;
constexpr FieldRule kPath = kRequired.no_longer_than(kLongestCopyPath);
constexpr FieldRule kBytes = kOptional.within(0, kUnbounded);
constexpr ListRule kLayers = kOptional.no_longer_than(2 * kCopyDigestBytes).at_most(kMostImageLayers);
constexpr FieldRule kTokens = kOptional.no_longer_than(kCopyTokenBytes * kMostCopyStreams * 2);

void list_secrets(FieldVisitor& field, std::string& tokens, std::string& keys) {
  field.base64("tokens", tokens, kTokens);
  field.base64("keys", keys, kTokens);
  field.check("tokens", !tokens.empty() && tokens.size() % kCopyTokenBytes == 0, "expected whole tokens");
  field.check("keys", keys.empty() || keys.size() == tokens.size(), "expected one key per token");
}

bool are_layers(const std::vector<std::string>& digests) {
  return std::all_of(digests.begin(), digests.end(), [](const std::string& one) { return is_sha256(one); });
}

}  // namespace

bool is_image_name(std::string_view name) {
  constexpr std::size_t kLongest = 255;
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  if (name.empty() || name.size() > kLongest || !is_word(name.front())) return false;
  return std::all_of(name.begin(), name.end(), [&](char c) {
    return is_word(c) || (c >= 'A' && c <= 'Z') || c == '.' || c == '_' || c == '-' || c == '/' || c == ':';
  });
}

bool is_engine_folder(std::string_view path) {
  return path.starts_with('/') && path.size() <= kLongestCopyPath && shown_text(path, kLongestCopyPath) == path;
}

bool is_path_below_tree(std::string_view path) {
  if (path.empty() || path.size() > kLongestCopyPath || path.find('\0') != std::string_view::npos) return false;
  if (!is_valid_utf8(path)) return false;
  const auto parts = split(path, '/');
  if (parts.front() == kPartialFolder) return false;
  return std::none_of(parts.begin(), parts.end(), [](std::string_view part) {
    return part.empty() || part == "." || part == ".." || part.size() > 255;
  });
}

bool is_too_deep(std::string_view path, CopyKind kind) {
  const auto above = static_cast<std::size_t>(std::count(path.begin(), path.end(), '/'));
  return above + (kind == CopyKind::kDirectory ? 1 : 0) > kDeepestCopyTree;
}

bool is_transient_blob(std::string_view path) {
  constexpr std::string_view kBlobs = "blobs/";
  if (!path.starts_with(kBlobs) || path.find('/', kBlobs.size()) != std::string_view::npos) return false;
  return path.ends_with(".incomplete") || path.ends_with(".lock");
}

bool stays_in_tree(std::string_view path, std::string_view target) {
  if (target.empty() || target.front() == '/' || target.find('\0') != std::string_view::npos) return false;
  const auto places = split(path, '/');
  auto above = places.size() - 1;
  bool goes_up = true;
  for (const auto part : split(target, '/')) {
    if (part.empty() || part == ".") continue;
    if (part != "..") {
      goes_up = false;
    } else if (!goes_up || above-- == 0) {
      return false;
    }
  }
  return true;
}

void list_fields(FieldVisitor& field, CopyOpen& command) {
  field("path", command.path, kPath);
  field("owner", command.owner);
  field("kind", command.kind, kOptional.unless(command.kind == CopyTreeKind::kDirectory));
  field("write", command.write);
  field("existing", command.existing, kOptional.unless(!command.existing));
  field("rate", command.rate, kBytes);
}

void list_fields(FieldVisitor& field, CopyOpened& answer) {
  field("path", answer.path, kPath);
  field("exists", answer.exists);
  field("was_received", answer.was_received);
  field("free_bytes", answer.free_bytes, kBytes);
  field("partial_bytes", answer.partial_bytes, kBytes);
}

void list_fields(FieldVisitor& field, CopyEntry& entry) {
  field("path", entry.path, kPath);
  field("kind", entry.kind, kRequired);
  field("size", entry.size, kOptional.within(0, kLargestCopyFile));
  field("mode", entry.mode, kOptional.within(0, 0777));
  field("mtime_ns", entry.mtime_ns);
  field("user", entry.user, kShortText);
  field("group", entry.group, kShortText);
  field("target", entry.target, kOptional.no_longer_than(kLongestCopyPath).unless(entry.target.empty()));
  field("sparse", entry.sparse, kOptional.unless(!entry.sparse));
  field("holes", entry.holes, kOptional.within(0, kLargestCopyFile).unless(entry.holes == 0));
  field("last", entry.last, kOptional.unless(!entry.last));
  field("sum", entry.sum, kOptional.no_longer_than(2 * kCopyDigestBytes));
  field.base64("digests", entry.digests, kOptional.no_longer_than(kLongestDigests).unless(entry.digests.empty()));
  if (!field.reading()) return;
  field.check("path", is_path_below_tree(entry.path), "expected a path below the tree");
  // Its bytes would give the node time for which no space is needed.
  field.check("size", entry.kind == CopyKind::kFile || entry.size == 0, "expected the size of a file alone");
  field.check("holes", entry.sparse ? entry.holes <= entry.size : entry.holes == 0,
              "expected no more holes than a sparse file has bytes");
  field.check("target", entry.kind != CopyKind::kLink || stays_in_tree(entry.path, entry.target),
              "expected a link within the tree");
  field.check("digests",
              entry.digests.empty() ||
                  entry.digests.size() == kCopyDigestBytes * static_cast<std::size_t>(chunks_of(entry.size)),
              "expected one digest per chunk");
}

void list_fields(FieldVisitor& field, CopyRoot& root) {
  field("mode", root.mode, kRequired.within(0, 0777));
  field("mtime_ns", root.mtime_ns);
  field("user", root.user, kShortText);
  field("group", root.group, kShortText);
}

void list_fields(FieldVisitor& field, CopyLook& command) {
  field("read", command.read);
  field("ignore_known", command.ignore_known);
  field("chunks", command.chunks);
  field("paths", command.paths, kOptional.no_longer_than(kLongestCopyPath).at_most(kMostCopyEntries));
}

void list_fields(FieldVisitor& field, CopyEntries& answer) {
  field("entries", answer.entries, kOptional.at_most(kMostEntriesInFrame));
}

void list_fields(FieldVisitor& field, CopyLooked& answer) {
  field("changed", answer.changed, kOptional.no_longer_than(kLongestCopyPath).at_most(100));
  field("root", answer.root);
}

void list_fields(FieldVisitor& field, CopyExpect& command) {
  field("entries", command.entries, kOptional.at_most(kMostEntriesInFrame));
}

void list_fields(FieldVisitor& field, CopyBegin& command) {
  field("source", command.source);
  field("replace", command.replace);
  field("root", command.root);
}

void list_fields(FieldVisitor& field, CopyBegun& answer) {
  field("missing_bytes", answer.missing_bytes, kBytes);
  field("needed_bytes", answer.needed_bytes, kBytes);
  field("free_bytes", answer.free_bytes, kBytes);
  field("processors", answer.processors, kOptional.within(0, kMostProcessors));
}

void list_fields(FieldVisitor& field, CopyTree& tree) {
  field("path", tree.path, kPath);
  field("real_path", tree.real_path, kPath);
  field("owner", tree.owner, kShortText);
  field("kind", tree.kind, kOptional.unless(tree.kind == CopyTreeKind::kDirectory));
  field("image", tree.image, kShortText);
  field("image_id", tree.image_id, kShortText);
}

void list_fields(FieldVisitor& field, CopyTrees& answer) {
  field("trees", answer.trees, kOptional.at_most(kMostCopyTrees));
}

void list_fields(FieldVisitor& field, CopyPrune& command) {
  field("remove", command.remove);
  field("image", command.image);
}

void list_fields(FieldVisitor& field, CopyPruned& answer) {
  field("files", answer.files, kBytes);
  field("bytes", answer.bytes, kBytes);
  field("kept_files", answer.kept_files, kBytes);
  field("kept", answer.kept, kOptional.no_longer_than(kLongestCopyPath).at_most(100));
}

void list_fields(FieldVisitor& field, CopyForget& command) {
  field("path", command.path, kPath);
  field("owner", command.owner);
  field("kind", command.kind, kOptional.unless(command.kind == CopyTreeKind::kDirectory));
  field("image", command.image);
}

void list_fields(FieldVisitor& field, CopyImage& command) {
  field("action", command.action, kRequired);
  field("engine", command.engine, kRequired);
  field("name", command.name, kRequired);
  field("owner", command.owner);
  field("id", command.id);
  field("layers", command.layers, kLayers);
  field("left_out", command.left_out, kOptional.within(0, kMostImageLayers));
  if (!field.reading()) return;
  field.check("name", is_image_name(command.name), "expected the name of an image");
  const bool needs_id = command.action == CopyImageAction::kLoad || command.left_out > 0;
  field.check("id", needs_id ? is_sha256(command.id) : command.id.empty(), "expected an id with a load alone");
  field.check("left_out", command.left_out == 0 || command.action != CopyImageAction::kLook,
              "expected no look at an image");
  field.check("layers", are_layers(command.layers), "expected digests");
}

void list_fields(FieldVisitor& field, CopyImageState& answer) {
  field("id", answer.id, kShortText);
  field("bytes", answer.bytes, kBytes);
  field("layers", answer.layers, kLayers);
  field("known_layers", answer.known_layers, kOptional.within(0, kMostImageLayers));
  field("store", answer.store, kOptional.no_longer_than(kLongestCopyPath).unless(answer.store.empty()));
  field("store_free_bytes", answer.store_free_bytes, kBytes);
  field("store_shared", answer.store_shared, kOptional.unless(!answer.store_shared));
  if (!field.reading()) return;
  field.check("layers", are_layers(answer.layers), "expected digests");
  field.check("store", answer.store.empty() || is_engine_folder(answer.store),
              "expected an absolute path in plain text");
  field.check("id", answer.id.empty() || is_sha256(answer.id), "expected 64 hexadecimal digits");
}

void list_fields(FieldVisitor& field, CopyServe& command) {
  field("link", command.link, kRequired);
  field("address", command.address, kRequired);
  field("peer", command.peer, kRequired);
  list_secrets(field, command.tokens, command.keys);
}

void list_fields(FieldVisitor& field, CopyServing& answer) {
  field("link", answer.link, kRequired);
  field("port", answer.port, kRequired.within(1, 65535));
}

void list_fields(FieldVisitor& field, CopyFetch& command) {
  field("link", command.link, kRequired);
  field("address", command.address, kRequired);
  field("port", command.port, kRequired.within(1, 65535));
  field("own", command.own, kRequired);
  list_secrets(field, command.tokens, command.keys);
}

void list_fields(FieldVisitor& field, CopyJoin& command) {
  field.base64("token", command.token, kTokens);
  field.check("token", command.token.size() == kCopyTokenBytes, "expected one token");
}

void list_fields(FieldVisitor& field, CopyDrop& command) { field("link", command.link, kRequired); }

void list_fields(FieldVisitor& field, CopyDigests& message) {
  field.base64("records", message.records, kRequired.no_longer_than(kLongestDigests));
  field.check("records", message.records.size() % kCopyRecordBytes == 0, "expected whole records");
}

void list_fields(FieldVisitor& field, CopyProgress& answer) {
  field("done_bytes", answer.done_bytes, kBytes);
  field("received_bytes", answer.received_bytes, kBytes);
  field("sent_bytes", answer.sent_bytes, kBytes);
  field("read_bytes", answer.read_bytes, kBytes);
  field("doing", answer.doing, kShortText);
}

void list_fields(FieldVisitor& field, CopyLinkLost& answer) {
  field("link", answer.link, kRequired);
  field("error", answer.error, kRequired);
}

void list_fields(FieldVisitor& field, CopyComplete& answer) { field("received_bytes", answer.received_bytes, kBytes); }

void list_fields(FieldVisitor& field, CopyFailure& answer) { field("error", answer.error, kRequired); }

void list_fields(FieldVisitor& field, CopyCommand& command) { field.tagged("command", command); }

void list_fields(FieldVisitor& field, CopyAnswer& answer) { field.tagged("answer", answer); }

}  // namespace sparkplan
