#include "engine/agent/farewell.h"

#include <string>

#include "engine/agent/manifest_store.h"
#include "engine/agent/node_lock.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

namespace fs = std::filesystem;

constexpr const char* kAgentDirectory = "/usr/local/libexec/sparkplan";

/// Files of a directory, and those of the directories in it, `last` after all others.
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

Result<void> check_nothing_of_ours_is_left(const Manifest& manifest, const Registry& registry, const LocalNode& node) {
  for (const auto& [id, artifact] : manifest.artifacts) {
    const auto* type = registry.find(artifact.type);
    if (type == nullptr) {
      return failure(ErrorCode::kUnsupported,
                     "this agent has no resource type " + artifact.type + " to look after " + id.name);
    }
    const auto now = read_artifact(id, *type, node);
    if (const auto* error = std::get_if<Error>(&now)) return failure(*error);
    // Absent is nobody's, also where something was before: what ssh_trust closes stays closed.
    const bool nothing_of_ours = std::holds_alternative<Absent>(now) || artifact.written_digest.empty();
    if (nothing_of_ours || same_state(now, artifact.original)) continue;
    if (digest(now) == artifact.written_digest) {
      return failure(ErrorCode::kFailed, id.name + " still is as sparkplan has made it", "apply again");
    }
  }
  return {};
}

Result<void> remove_every_trace(LocalNode& node) {
  if (node.live()) {
    SPARK_CHECK(remove_tree(kAgentDirectory, "", node));
    SPARK_CHECK(remove_tree(kLockDirectory, "", node));
  }
  return remove_tree(kStateDirectory, "manifest.json", node);
}

}  // namespace sparkplan
