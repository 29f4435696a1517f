#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/mount_table.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"
#include "resources/mount/mount_unit.h"

/// The directories above a target. mount(8) follows a symbolic link that a user puts there, after systemd has looked.
namespace sparkplan::mount {

/// A place where a user other than root and the login user could put a symbolic link.
struct WeakPlace {
  std::string danger;  ///< "/data is writable by all users, who could replace /data/a with a symbolic link"
  std::string remedy;  ///< "chmod o-w /data"
};

/// The way to a path.
struct Way {
  std::optional<WeakPlace> weak = std::nullopt;
  /// The path does not exist, and such a user could make its first missing part.
  bool is_open = false;
};

/// I/O, read-only. The directories above `path`, and with the sticky bit the owners of what is in them. It ends at the
/// first part that is missing or no directory.
/// Errors: as NodeReader::status().
Result<Way> look_at_way(const std::string& path, const NodeReader& node);

/// I/O, read-only. The refusal to mount at `target`. Nothing if no other user could lead the mount elsewhere.
std::optional<Error> objection_to_way(const std::string& target, const NodeReader& node);

/// I/O. As objection_to_way(), right before the mount. Missing directories that another user could make are made first.
/// Errors: the refusal; those of NodeReader::status() and Node::make_empty_directory().
Result<void> make_way(const std::string& target, Node& node);

/// I/O, read-only. Warnings of a plan about `wanted`, the desired values by target. One is about a mount that
/// objection_to_way() will refuse. The other one is about a bind whose source another user could replace: systemd
/// mounts it again at each boot, and follows links. A source in a mount of a server is not checked, because the
/// server may not answer.
std::vector<Ineffective> foresee_ways(const ValuesByName& wanted, const NodeReader& node);

/// I/O. Nothing if something is mounted at `target`. Else detaches the mounts of the unit that are not among `before`,
/// because a link led them elsewhere. A mount below an automounter stays, and so does one on the source of a bind. It
/// runs no program by its name, because such a mount may hide the node's own. Errors: kVerifyFailed, naming these
/// mounts; as mounted_file_systems().
Result<void> detach_strays(const MountUnit& unit, const std::string& target,
                           const std::vector<MountedFileSystem>& before, Node& node);

}  // namespace sparkplan::mount
