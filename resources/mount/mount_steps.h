#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

namespace sparkplan::mount {

/// The artifact of a mount with its unit.
ArtifactId mount_artifact(std::string_view target);
/// The artifact of a directory that a mount needs. A directory that sparkplan made is removed when it is empty.
ArtifactId directory_artifact(std::string_view path);

/// "/srv", "/srv/a" for "/srv/a": all directories of a path except the root.
std::vector<std::string> directories_of(std::string_view target);

/// Pure. See ResourceType::steps().
std::vector<Step> mount_steps(const StepsInput& input, const TypeInfo& info);

/// I/O. Makes the mount at `target` match `after`. Options change by a remount, or by an unmount and a mount if the
/// kernel refuses. Another source replaces only our own mount. Mounts in use are not unmounted, and devices are never
/// formatted.
/// Errors: kRefused for a mount that is in use or foreign; kNotFound for a missing device; kVerifyFailed; kFailed with
/// the messages of systemd and the kernel.
Result<void> make_mount(const std::string& target, const Observation& after, Node& node);

/// I/O, read-only. Present for a directory. Errors: kRefused for another kind of file, because systemd does not mount
/// over or below a symbolic link. Source: systemd.mount(5), Where=.
Observation observe_directory(const std::string& path, const NodeReader& node);

/// I/O. Makes the directory (0755 root:root), or removes it if it is empty. Other directories stay.
/// Errors: those of observe_directory(); of Node::make_empty_directory().
Result<void> make_directory(const std::string& path, const Observation& after, Node& node);

}  // namespace sparkplan::mount
