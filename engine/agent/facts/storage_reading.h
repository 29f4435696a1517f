#pragma once

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// Reads at most 256 MiB: from a large file there, else from the block device itself. A failed read is a complaint; an
/// Error means that it tried nothing.
Result<ReadStorageReply> read_storage(const ReadStorageRequest& request, const NodeReader& node);

}  // namespace sparkplan
