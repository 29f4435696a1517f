#pragma once

#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"

namespace sparkplan {

/// Removes everything that sparkplan keeps for itself on a node: manifest, journal, lock, and the agent. The manifest
/// is the last file of its directory: until then, the node still belongs to its cluster.
Result<void> remove_every_trace(LocalNode& node);

}  // namespace sparkplan
