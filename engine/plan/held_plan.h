#pragma once

#include <map>
#include <set>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/plan.h"
#include "engine/plan/fields_of_others.h"

namespace sparkplan {

/// The part of a new plan that may be carried out when an earlier plan was approved.
struct HeldPlan {
  std::set<ResourceId> approved;       ///< Displayed as in the saved plan, with exactly the same steps.
  std::map<ResourceId, Error> stale;   ///< Displayed in the saved plan, but no longer possible like that.
  std::vector<ResourceId> not_held;    ///< Planned now, but not displayed in the saved plan.
  std::vector<ResourceId> not_so_now;  ///< Displayed in the saved plan without a change (blocked, left alone, foreign),
                                       ///< different now.
};

/// Pure. A change is approved if all of these are as displayed: fields before and after, action, origin, impact,
/// reversibility, remark, place, and the claims of foreign files. Its steps must also be the same, and all changes that
/// are done or undone with it must be approved.
/// A change displayed as waiting must still wait for the same reason: the user has not read values that became known
/// since. A change that is now blocked is neither approved nor stale.
/// `kept`: `now` leaves these fields as they are on the node, because other nodes report other data. They are compared
/// neither in the changes nor in the values, and the steps may do less than the saved ones. A change that displays no
/// other field is neither approved nor stale. Of a displayed file of the same type (TYPE/@file), only the steps are
/// compared, which must have the displayed content in `saved`.
HeldPlan hold_to(const NodePlan& saved, const NodePlan& now, const KeptFields& kept = {});

/// Pure. For the stages after the first: changes of `now` that `saved` displays, but with another result. A value
/// displayed as Unknown may have become any value. Errors in the map: kStalePlan.
std::map<ResourceId, Error> beyond_what_was_shown(const NodePlan& saved, const NodePlan& now);

}  // namespace sparkplan
