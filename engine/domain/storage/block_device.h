#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan {

/// I/O, read-only. Somebody has the block device at `path` ("/dev/nvme1n1", "/dev/mapper/data") to himself: it, or a
/// partition of it, is mounted in any mount namespace, is swapped to or lies below another device. False where there is
/// no such device. Waits up to a second for programs that only look at it.
/// Errors: kFailed where nobody can tell, and as NodeReader::query().
Result<bool> is_held(const std::string& path, const NodeReader& node);

}  // namespace sparkplan
