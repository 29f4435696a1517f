#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/remote/ssh/host_keys.h"

namespace sparkplan {

/// Pure. The reason why `sparkplan trust` records no such key, for a key that is changed, revoked or not the pinned
/// one. `file` is the path of cluster.yaml. kUntrusted; the hint is about this case alone.
Error why_not_recorded(const OfferedHostKey& key, const SshStation& station, const std::string& file);

}  // namespace sparkplan
