#pragma once

#include <cstddef>
#include <string>

#include "engine/core/result.h"

namespace sparkplan {

/// The first `longest` bytes of a regular file on this machine; never waits for a writer. Errors: kNotFound,
/// kPermissionDenied, kUnsupported (no regular file), kFailed.
Result<std::string> read_regular_file(const std::string& path, std::size_t longest);

}  // namespace sparkplan
