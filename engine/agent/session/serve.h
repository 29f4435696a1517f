#pragma once

#include <filesystem>

#include "engine/core/result.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Exchanges frames on two file descriptors until the input ends or no frame arrives for too long. The limit is 2
/// minutes while the node is locked, so that a broken connection cannot keep the lock, and otherwise an hour. Only
/// frames are written to `output`.
/// Errors: kInvalidInput for a peer with another protocol; those of LocalNode::open().
Result<void> serve(const Registry& registry, const std::filesystem::path& root, int input, int output);

}  // namespace sparkplan
