#pragma once

#include <string>

#include "engine/load/findings.h"
#include "engine/load/load.h"
#include "engine/load/unresolved_node.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Puts the texts of the files that records name (TypeInfo::file_beside) in the place of their names. A
/// file that cannot be taken, because of where it is or what it holds, is a finding at its name.
TextsByName put_in_files_beside(UnresolvedCluster& draft, const Registry& registry, const ReadBeside& read_beside,
                                Findings& findings);

/// Reads files of the directory that `cluster_file` is in, and of those below; a link that leads out of it
/// is refused. Errors: kNotFound, kPermissionDenied, kRefused, kUnsupported (no regular file, too long).
ReadBeside files_in_directory_of(const std::string& cluster_file);

}  // namespace sparkplan
