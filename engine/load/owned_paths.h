#pragma once

#include "engine/load/findings.h"
#include "engine/load/unresolved_node.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Paths of `files` that a resource type writes itself (TypeInfo::files): two owners of one file would
/// undo each other with every run.
void check_owned_paths(const UnresolvedCluster& draft, const Registry& registry, Findings& findings);

}  // namespace sparkplan
