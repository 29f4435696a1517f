#pragma once

#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/model/plan.h"

namespace sparkplan::test {

/// A plan as cases/*/plan.json has it: what is empty is left out, text of several lines is a list.
Value describe_plan(const NodePlan& plan, const std::vector<Diagnostic>& diagnostics);

}  // namespace sparkplan::test
