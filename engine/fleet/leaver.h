#pragma once

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/model/manifest.h"

namespace sparkplan {

/// How to reach a node that the file does not name any more: as the roster knows it, with the key it
/// had. Only the identity, which is the controller's own, is taken from a node of the file.
/// Errors: kInvalidInput for a roster with names that are none.
Result<NodeSpec> spec_of_leaver(const RosterEntry& entry, const Cluster& cluster);

}  // namespace sparkplan
