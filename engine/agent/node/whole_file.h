#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "engine/core/result.h"

namespace sparkplan {

/// Content of a regular file that is open; `path` is for messages only. A file that says that it is larger is not
/// read at all. Errors: kUnsupported above `max_bytes` or for no regular file; kFailed.
Result<std::string> read_whole(int file, const std::filesystem::path& path, std::size_t max_bytes);

}  // namespace sparkplan
