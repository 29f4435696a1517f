#include "engine/agent/session/uninstall.h"

#include <string>

#include "engine/agent/state/manifest_store.h"
#include "engine/agent/state/node_lock.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAgentDirectory = "/usr/local/libexec/sparkplan";

/// Removes the files of a directory and of its subdirectories, and `last` after all others.
Result<void> remove_tree(const fs::path& directory, std::string_view last, LocalNode& node) {
  auto names = node.list_directory(directory);
  if (!names && names.error().code == ErrorCode::kNotFound) return {};
  if (!names) return failure(std::move(names).error());
  for (const std::string& name : *names) {
    if (name == last) continue;
    SPARK_TRY(const FileStatus status, node.status(directory / name));
    if (status.kind == FileStatus::Kind::kDirectory) {
      SPARK_CHECK(remove_tree(directory / name, "", node));
    } else {
      SPARK_CHECK(node.remove_file(directory / name));
    }
  }
  if (!last.empty()) {
    auto removed = node.remove_file(directory / last);
    if (!removed && removed.error().code != ErrorCode::kNotFound) return removed;
  }
  return node.remove_directory(directory);
}

}  // namespace

Result<void> remove_every_trace(LocalNode& node) {
  if (node.live()) {
    SPARK_CHECK(remove_tree(kAgentDirectory, "", node));
    // The agent's installation usually made this directory too. It stays if other files are in it.
    (void)node.remove_directory(fs::path(kAgentDirectory).parent_path());
    SPARK_CHECK(remove_tree(kLockDirectory, "", node));
  }
  return remove_tree(kStateDirectory, "manifest.json", node);
}

}  // namespace sparkplan
