#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"

namespace sparkplan::mount {

/// I/O. Makes the mount at `target` be as `after` has it, whatever it is now. Options change by a remount;
/// another source is never put in the place of what is mounted; nothing in use is unmounted, and nothing
/// formatted.
/// Errors: kRefused for what is in use or somebody else's, kNotFound for a device that is not there, kFailed
/// with what systemd and the kernel say.
Result<void> make_mount(const std::string& target, const Observation& after, Node& node);

}  // namespace sparkplan::mount
