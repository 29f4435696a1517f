#pragma once

#include <map>
#include <set>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/plan.h"

namespace sparkplan {

/// What of a plan made now may be carried out when another one, made before, was approved.
struct HeldPlan {
  std::set<ResourceId> approved;       ///< Displayed then as it is displayed now, and planned to the byte.
  std::map<ResourceId, Error> stale;   ///< Displayed then, and not to be done like that any more.
  std::vector<ResourceId> not_held;    ///< To be done now, and not displayed then.
  std::vector<ResourceId> not_so_now;  ///< Displayed then without a change (blocked, left alone, another's), not now.
};

/// Pure. A change is approved if it is displayed as it was (fields before and after, action, origin, impact,
/// reversibility, remark, place, and what files of others say of it), if its steps are the same, and if so are all
/// that are done or undone together with it. What was displayed as waiting still waits for the same: what has become
/// known since, nobody has read. What cannot be planned now at all (blocked) is neither approved nor stale.
HeldPlan hold_to(const NodePlan& saved, const NodePlan& now);

/// Pure. For the stages after the first: changes of `now` that `saved` displays, and that would become something else
/// than it displays. A value that it displays as Unknown may have become anything. Errors in the map: kStalePlan.
std::map<ResourceId, Error> beyond_what_was_shown(const NodePlan& saved, const NodePlan& now);

}  // namespace sparkplan
