#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/fleet/planning/planning.h"
#include "engine/fleet/session/node_reply.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Pure. The question about the changes of a node's plan; without entries if no type can answer it. Removals and
/// waiting resources are left out.
ForesightRequest foresight_request(const PlannedNode& planned, const Registry& registry);

/// Pure. A node's checked findings as warnings, at the places of their resources in `file`. The number of those that
/// were left out comes first.
std::vector<Diagnostic> warnings_of(CheckedFindings&& reply, const PlannedNode& planned, const std::string& file);

}  // namespace sparkplan
