#pragma once

#include "engine/plan/held_plan.h"
#include "engine/plan/plan_index.h"

// Internal to engine/plan.

namespace sparkplan {

/// Withdraws approved changes whose steps belong together with an unapproved one: they cannot be carried out without
/// it. `index` is the index of `now`.
void withdraw_companions(const NodePlan& now, const PlanIndex& index, HeldPlan& held);

}  // namespace sparkplan
