#pragma once

#include <string>
#include <string_view>

#include "engine/core/file_descriptor.h"
#include "engine/core/result.h"

/// The file of a DigestIndex.
namespace sparkplan::copy {

inline constexpr std::string_view kIndexEnding = ".index";

/// The file of the tree at `path`, in state_directory().
std::string index_name(const std::string& path);
/// Beside it: the file that is to replace it. It does not count as an index.
std::string new_index_name(const std::string& name);

/// As open(2). It follows no link and waits for no other end of a FIFO. Invalid, with errno: it failed.
FileDescriptor open_index(const std::string& name, int flags);

/// Opens the index for one writer. The descriptor is invalid if the file is absent and `flags` lack O_CREAT. Waits 10 s
/// for a writer that is about to end: after a broken connection, a program notices it later than the controller does.
/// Errors: kBusy (another process writes to the tree), kFailed.
Result<FileDescriptor> open_locked_index(const std::string& name, int flags);

/// The text of an index, at most 512 MiB of it. Errors: kFailed.
Result<std::string> read_index(int file);

/// Puts a new file with this text in the place of an index that this process has locked. The new file is locked, too.
/// The descriptor is invalid if that fails, as on a full disk: then the old file is as it was.
FileDescriptor replace_index(const std::string& name, const std::string& text);

}  // namespace sparkplan::copy
