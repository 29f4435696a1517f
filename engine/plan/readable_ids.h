#pragma once

#include <optional>
#include <string>

#include "engine/model/plan.h"

namespace sparkplan {

/// Pure. The text of the first id in the plan that cannot be read again: a part of it is empty. A node can word such an
/// id, and a saved plan with it would be unreadable for all nodes. Nothing if all can be read.
std::optional<std::string> unreadable_id(const NodePlan& plan);

}  // namespace sparkplan
