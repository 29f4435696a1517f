#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "engine/node/node.h"

namespace sparkplan::ssh_trust {

/// A file in a home and the status of that same file.
struct UserFile {
  std::string bytes;
  FileStatus status;
};

/// Nothing if the file does not exist. Errors: as NodeReader::read_user_file(); kStalePlan if the file was replaced
/// while it was read.
Result<std::optional<UserFile>> read_with_status(const UserPath& path, std::size_t max_bytes, const NodeReader& node);

}  // namespace sparkplan::ssh_trust
