#pragma once

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// Reads at most 256 MiB: of a large file there, else of the block device itself. What cannot be read is a
/// complaint; an Error means that nothing was tried.
Result<ReadStorageReply> read_storage(const ReadStorageRequest& request, const NodeReader& node);

}  // namespace sparkplan
