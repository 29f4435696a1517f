#pragma once

#include <filesystem>
#include <string>

#include "engine/core/result.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Speaks frames on two file descriptors until the input ends or nobody has spoken for too long:
/// 2 minutes while the node is locked, so that a cut connection cannot keep the lock, an hour
/// otherwise. Nothing but frames is ever written to `output`.
/// Errors: kInvalidInput for a peer that does not speak our protocol; those of LocalNode::open().
Result<void> serve(const Registry& registry, const std::filesystem::path& root, int input, int output);

}  // namespace sparkplan
