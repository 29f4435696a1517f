#pragma once

#include "engine/agent/local_node.h"
#include "engine/core/result.h"
#include "engine/model/manifest.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Errors: kFailed, with the artifact named, while one of them still is what sparkplan has written; what
/// somebody has made something else of is his. As read_artifact().
Result<void> check_nothing_of_ours_is_left(const Manifest& manifest, const Registry& registry, const LocalNode& node);

/// Removes all that sparkplan keeps for itself on a node: manifest, journal, lock, the agent too. The
/// manifest goes last of its directory: until then the node still belongs to its cluster.
Result<void> remove_every_trace(LocalNode& node);

}  // namespace sparkplan
