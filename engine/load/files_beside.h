#pragma once

#include <cstddef>
#include <string>

#include "engine/core/result.h"
#include "engine/load/findings.h"
#include "engine/load/load.h"
#include "engine/load/unresolved_node.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Replaces file names in records (TypeInfo::file_beside) by the files' texts. A file that is refused for its place or
/// its content is a finding at its name. Above kMostMergedBytes, the first text that is too much is a finding, and no
/// further text is put in.
TextsByName put_in_files_beside(UnresolvedCluster& draft, const Registry& registry, const ReadBeside& read_beside,
                                Findings& findings);

/// Reads files in the directory of `cluster_file` and below it; a link that leads out of it is refused. At most one
/// byte more than 256 KiB is read, so that the caller can refuse longer files. Errors: kNotFound, kPermissionDenied,
/// kRefused, kUnsupported (no regular file), kFailed.
ReadBeside files_in_directory_of(const std::string& cluster_file);

/// The first `longest` bytes of a regular file on this machine; never waits for a writer. Errors: kNotFound,
/// kPermissionDenied, kUnsupported (no regular file), kFailed.
Result<std::string> read_regular_file(const std::string& path, std::size_t longest);

}  // namespace sparkplan
