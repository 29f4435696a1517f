#include "engine/copy/prune.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "engine/core/bounded_text.h"
#include "engine/core/file_descriptor.h"

namespace sparkplan::copy {
namespace {

constexpr std::size_t kMostKept = 100;

void keep(CopyPruned& pruned, const std::string& path) {
  ++pruned.kept_files;
  if (pruned.kept.size() < kMostKept) pruned.kept.push_back(path);
}

Result<void> remove_from(const FileDescriptor& parent, const std::string& path) {
  if (::unlinkat(parent.get(), name_of(path).c_str(), 0) == 0 || errno == ENOENT) return {};
  return failure(system_error("remove " + shown_text(path), errno));
}

Result<void> prune_file(const Tree& tree, const std::string& path, const FileStamp& stamp, bool remove,
                        CopyPruned& pruned) {
  const auto status = tree.status_of(path);
  if (!status && status.error().code == ErrorCode::kNotFound) return {};
  if (!status || stamp_of(*status) != stamp) {
    keep(pruned, path);
    return {};
  }
  ++pruned.files;
  pruned.bytes += stamp.size;
  if (!remove) return {};
  SPARK_TRY(const auto parent, tree.open_parent(path));
  return remove_from(parent, path);
}

Result<void> prune_link(const Tree& tree, const std::string& path, const std::string& target, bool remove,
                        CopyPruned& pruned) {
  const auto parent = tree.open_parent(path);
  if (!parent) return {};
  std::string found(target.size() + 1, '\0');
  const auto size = ::readlinkat(parent->get(), name_of(path).c_str(), found.data(), found.size());
  if (size < 0 && errno == ENOENT) return {};
  if (size < 0 || found.substr(0, static_cast<std::size_t>(size)) != target) {
    keep(pruned, path);
    return {};
  }
  ++pruned.files;
  return remove ? remove_from(*parent, path) : Result<void>();
}

/// False: it is gone. One that is not empty stays.
bool stays_as_directory(const Tree& tree, const std::string& path) {
  const auto parent = tree.open_parent(path);
  if (!parent) return false;
  if (::unlinkat(parent->get(), name_of(path).c_str(), AT_REMOVEDIR) == 0) return false;
  return errno != ENOENT && errno != ENOTDIR;
}

}  // namespace

Result<CopyPruned> prune(const Tree& tree, const DigestIndex& index, bool remove) {
  CopyPruned pruned;
  // Links first: without its blobs, a snapshot must not look like a model.
  for (const auto& [path, target] : index.links()) SPARK_CHECK(prune_link(tree, path, target, remove, pruned));
  for (const auto& [path, record] : index.records()) {
    if (record.brought) {
      SPARK_CHECK(prune_file(tree, path, record.stamp, remove, pruned));
    } else if (record.received) {
      keep(pruned, path);
    }
  }
  if (!remove) return pruned;
  const auto directories = index.directories();
  bool any_stays = false;
  // Deepest first.
  for (auto path = directories.rbegin(); path != directories.rend(); ++path) {
    if (stays_as_directory(tree, *path)) any_stays = true;
  }
  // An interrupted sync may not have given it to its owner. The next one does, if the journal knows the directory.
  tree.remove_partial_folder(any_stays ? KeepJournal::kYes : KeepJournal::kNo);
  return pruned;
}

}  // namespace sparkplan::copy
