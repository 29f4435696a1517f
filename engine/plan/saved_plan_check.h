#pragma once

#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/plan/saved_plan.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Why a saved plan with this plan of a node would be refused when it is read; nothing if it is consistent: each step
/// and each waiting resource belongs to a displayed change, and all ids can be read again. Pure. Errors: kInvalidInput.
Result<void> check_node_plan(const std::string& node, const NodePlan& plan);

/// Whether a saved plan is consistent: each node is named once, each step and each waiting resource belongs to a
/// displayed change, ids and times are well-formed. Pure. Errors: kInvalidInput.
Result<void> check_consistency(const SavedPlan& plan);

/// Whether the displayed part of a saved plan matches the cluster.yaml in it. `cluster` is loaded from it with the
/// texts in SavedPlan::beside, and `findings` are the load's findings. Names, addresses, members, sections, digest and
/// findings are compared. Pure. Errors: kInvalidInput; kUnsupported for a resource type that this build does not have.
Result<void> check_belongs(const SavedPlan& plan, const Cluster& cluster, const std::vector<Diagnostic>& findings,
                           const Registry& registry);

}  // namespace sparkplan
