#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan {

/// Whether an access may enter a file system that is mounted on a name of its path. Where a user may mount, the access
/// may then wait without end. kRefused: the access fails with the errno EXDEV, and no file system is asked.
enum class Mounts : std::uint8_t { kEntered, kRefused };

/// The content of an open regular file; `path` is for messages only. A file whose reported size is larger is not read.
/// Errors: kUnsupported above `max_bytes` or for a file that is not regular; kFailed.
Result<std::string> read_whole(int file, const std::filesystem::path& path, std::size_t max_bytes);

/// As NodeReader::read_lines(), for an open regular file; `path` is for messages only.
Result<void> take_lines_of(int file, const std::filesystem::path& path, const NodeReader::LineLimits& limits,
                           const std::function<Result<void>(std::string_view)>& take);

/// The temporary name that replace_file_in() uses for a file until it is complete. A killed agent leaves it there.
std::string temporary_name(const std::string& name);
/// The name of the file that is written and removed to test whether `name` could be written in that directory. It is
/// hidden, and no tool reads files with its suffix.
std::string trial_name(const std::string& name);

/// Replaces or creates the file at the end of `path` in an open directory; `path` itself is for messages only. It
/// guarantees the same as Node::write_file(). Errors: those of Node::write_file(), and those of `mounts`; after an
/// EXDEV the file is as it was.
Result<void> replace_file_in(int directory, const std::filesystem::path& path, const FileContent& content,
                             Mounts mounts = Mounts::kEntered);

/// Removes the file; a missing file is no failure. A mounted file system is not entered. Errors: those of
/// Node::remove_file().
Result<void> remove_file_in(int directory, const std::filesystem::path& path);

}  // namespace sparkplan
