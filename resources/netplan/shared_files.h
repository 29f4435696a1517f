#pragma once

#include <vector>

#include "engine/model/plan.h"
#include "engine/resource/resource_type.h"
#include "resources/netplan/netplan_file.h"

/// Foreign netplan files whose definitions sparkplan empties and restores.
namespace sparkplan::netplan {

/// Pure. The steps for the foreign files among the observed artifacts. They empty definitions of interfaces that are
/// taken over, and restore those of interfaces that are not in `stanzas`. If a definition cannot be emptied, the step's
/// `before` is the error. Then the planner blocks the changes that need it.
std::vector<Step> shared_file_steps(const Stanzas& stanzas, const StepsInput& input, const TypeInfo& info);

}  // namespace sparkplan::netplan
