#pragma once

#include <filesystem>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan {

/// Content of a regular file that is open; `path` is for messages only. A file that says that it is larger is not
/// read at all. Errors: kUnsupported above `max_bytes` or for no regular file; kFailed.
Result<std::string> read_whole(int file, const std::filesystem::path& path, std::size_t max_bytes);

/// What replace_file_in() calls a file of that name until it is whole; a killed agent leaves it there.
std::string temporary_name(const std::string& name);
/// The file that is written and removed beside `name` to see whether it could be: hidden, and without a suffix
/// that any tool would read it by.
std::string trial_name(const std::string& name);

/// Replaces or creates the file that `path` ends in within an open directory; `path` itself is for
/// messages only. The promise is that of Node::write_file(). Errors: as there.
Result<void> replace_file_in(int directory, const std::filesystem::path& path, const FileContent& content);

/// Removes it; one that is not there is no failure. Errors: as Node::remove_file().
Result<void> remove_file_in(int directory, const std::filesystem::path& path);

}  // namespace sparkplan
