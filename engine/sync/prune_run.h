#pragma once

#include <cstddef>
#include <vector>

#include "engine/fleet/session/fleet_session.h"
#include "engine/sync/pruning.h"
#include "engine/sync/sync_node.h"
#include "engine/sync/sync_run.h"

namespace sparkplan {

/// Finds the trees that earlier syncs have brought and no entry names any more. Removes them, unless this is a dry run,
/// if `options.may_prune` consents. `items`: the number of entries; a node where not all of them were read keeps
/// everything, because their directories and images are not known there. In the order of the nodes.
std::vector<PrunedTree> prune_nodes(std::vector<SyncNode>& nodes, const RunOptions& run, const SyncOptions& options,
                                    std::size_t items);

}  // namespace sparkplan
