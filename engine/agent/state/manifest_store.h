#pragma once

#include <optional>

#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/model/manifest.h"

namespace sparkplan {

/// Everything sparkplan keeps on a node, but for the agent and the lock.
inline constexpr std::string_view kStateDirectory = "/var/lib/sparkplan";

/// Nothing when the node was never applied.
/// Errors: kUnsupported (written by a newer version), kInvalidInput (damaged), kPermissionDenied.
Result<std::optional<Manifest>> read_manifest(const NodeReader& node);

/// Replaces it atomically, 0600. Errors: as Node::write_file().
Result<void> write_manifest(const Manifest& manifest, LocalNode& node);

/// Clears away what an agent that was killed while it wrote has left beside the manifest and the files
/// that it lists. Only under the node's lock.
void remove_unfinished_files(LocalNode& node);

/// Makes kStateDirectory, 0700. Errors: kPermissionDenied, kFailed.
/// Moves a manifest that cannot be read out of the way; where to. Errors: as of renaming.
Result<std::filesystem::path> set_manifest_aside(LocalNode& node);

Result<void> prepare_state_directory(LocalNode& node);

}  // namespace sparkplan
