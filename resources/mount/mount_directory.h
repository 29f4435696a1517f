#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"

namespace sparkplan::mount {

/// I/O, read-only. Present for a directory; kRefused for anything else in its place: systemd does not mount over
/// or below a symbolic link. Source: systemd.mount(5), Where=.
Observation observe_directory(const std::string& path, const NodeReader& node);

/// I/O. Makes the directory (0755 root:root), or takes it away if it is empty; one that is not stays.
/// Errors: as the kernel has them.
Result<void> make_directory(const std::string& path, const Observation& after, Node& node);

}  // namespace sparkplan::mount
