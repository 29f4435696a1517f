#pragma once

#include <map>
#include <set>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/plan.h"

namespace sparkplan {

/// What of a plan made now may be carried out when another one, made before, was approved.
struct HeldPlan {
  std::set<ResourceId> approved;      ///< As it was planned then, to the byte.
  std::map<ResourceId, Error> stale;  ///< Planned then, and not to be done like that any more.
  std::vector<ResourceId> not_held;   ///< To be done now, and not planned then.
};

/// Pure. A change is approved if its steps begin where they began then and end where they were to end,
/// and so do all that are done or undone together with it; one that then waited for a value need only
/// begin where it began. What cannot be planned now at all (blocked) is in none of the three.
HeldPlan hold_to(const NodePlan& saved, const NodePlan& now);

}  // namespace sparkplan
