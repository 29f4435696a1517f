#pragma once

#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// Ends the agent that holds the node's lock, and no other process: the one that the lock's file names
/// by process id and start time, if it is an agent. Returns when the lock is free.
/// Errors: kNotFound (nobody holds it), kBusy (by now it is somebody else's), kRefused (a network change
/// is open, or what holds it is no agent), kUnreachable (it did not end), kPermissionDenied.
Result<void> break_lock(const BreakLockRequest& request, const LocalNode& node);

}  // namespace sparkplan
