#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan {

enum class AccountDatabase : std::uint8_t { kUsers, kGroups };

/// I/O, read-only. The number of a user or group of the node; nothing for an unknown name. getent runs only for names
/// that the node's own files do not have.
/// Errors: as NodeReader::read_file() and query(); kFailed for an unexpected exit status of getent.
Result<std::optional<std::int64_t>> account_number(AccountDatabase database, const std::string& name,
                                                   const NodeReader& node);

}  // namespace sparkplan
