#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "engine/fleet/planning/planning.h"
#include "engine/plan/saved_plan.h"

namespace sparkplan {

/// How an apply treats fields that follow from another node's report, if that report differs from the saved plan.
enum class FieldsOfOtherNodes : std::uint8_t {
  kStay,   ///< They stay as they are, with a warning. The rest of the change is carried out.
  kRefuse  ///< The change is refused: all or nothing.
};

/// Reduces the plans to the part that `saved` shows, and approves exactly that. Excludes nodes that are other machines
/// than in `saved`, nodes on which it was applied before, and nodes with findings that it does not show.
void keep_to_saved_plan(Planning& planning, const SavedPlan& saved, FieldsOfOtherNodes fields);

/// The plan of each node as the user approved it. Null for a node without one.
using ShownPlans = std::function<const NodePlan*(const FleetNode&)>;
/// `saved` must outlive the result.
ShownPlans plans_in(const SavedPlan& saved);

/// For the stages after the first, before refuse_changes_not_shown(): makes new plans in which fields that follow from
/// another node's report stay as they are, if they exceed `shown`.
void keep_fields_not_shown(Planning& planning, const ShownPlans& shown);

/// For the stages after the first. A stage may make known values that `shown` has as unknown. Any other difference
/// from `shown` makes the change stale, regardless of the node's data by then. `hint`: what the user can do.
void refuse_changes_not_shown(Planning& planning, const ShownPlans& shown, const std::string& hint);

}  // namespace sparkplan
