#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/model/manifest.h"

namespace sparkplan {

/// The directory of everything that sparkplan keeps on a node, except the agent and the lock.
inline constexpr std::string_view kStateDirectory = "/var/lib/sparkplan";

/// Nothing if the node was never applied.
/// Errors: kUnsupported (written by a newer version), kInvalidInput (damaged), kPermissionDenied.
Result<std::optional<Manifest>> read_manifest(const NodeReader& node);

/// A manifest as the facts contain it.
struct OfferedManifest {
  std::optional<Manifest> manifest;
  std::string known_roster;  ///< The digest of its roster, if that was offered: `manifest` has no roster then.
};
/// As read_manifest(). A roster whose digest is in `offered` is not decoded.
Result<OfferedManifest> read_manifest(const NodeReader& node, const std::vector<std::string>& offered);

/// Replaces the manifest atomically, mode 0600. Errors: those of Node::write_file().
Result<void> write_manifest(const Manifest& manifest, LocalNode& node);

/// Removes temporary files that a killed agent left near the manifest and near the files that it lists. Only under the
/// node's lock.
void remove_unfinished_files(LocalNode& node);

/// Moves an unreadable manifest away and returns its new path. Errors: those of rename().
Result<std::filesystem::path> set_manifest_aside(LocalNode& node);

/// Makes kStateDirectory, mode 0700. Errors: kPermissionDenied, kFailed.
Result<void> prepare_state_directory(LocalNode& node);

}  // namespace sparkplan
