#pragma once

#include <vector>

#include "engine/model/plan.h"

namespace sparkplan {

/// The fields of a removal, with what they become.
struct RemovalView {
  std::vector<FieldChange> fields;  ///< `after` is the value that returns; null if the field is gone afterwards.
  bool restores = false;            ///< The steps show what becomes of each field: the state from before sparkplan.
  /// The resource is a file that is not there afterwards.
  bool text_goes() const;
};

/// Pure. What becomes of the fields of a removal, as far as the plan shows it. Shown are artifacts of the resource
/// alone: a kernel parameter, a unit, its file. What remains of a file that it shares with other resources says nothing
/// about the value. `change` is a change of `plan` with Action::kRemove.
RemovalView view_of_removal(const Change& change, const NodePlan& plan);

}  // namespace sparkplan
