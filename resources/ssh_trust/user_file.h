#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/node/node.h"

namespace sparkplan::ssh_trust {

/// A file in a home with what is told of it: both are of one and the same file.
struct UserFile {
  std::string bytes;
  FileStatus status;
};

/// Nothing for a file that is not there. Errors: as NodeReader::read_user_file(); kStalePlan for one that was replaced
/// while it was read.
Result<std::optional<UserFile>> read_with_status(const UserPath& path, std::size_t max_bytes, const NodeReader& node);

}  // namespace sparkplan::ssh_trust
