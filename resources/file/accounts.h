#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan::file {

enum class Database : std::uint8_t { kUsers, kGroups };

/// I/O, read-only. The number of a user or group of the node; nothing when there is none of that name. A
/// program (getent) is started only for a name that the node's own files do not have.
/// Errors: as NodeReader::read_file() and query().
Result<std::optional<std::int64_t>> number_of(Database database, const std::string& name, const NodeReader& node);

}  // namespace sparkplan::file
