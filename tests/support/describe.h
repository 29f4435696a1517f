#pragma once

#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/model/plan.h"

namespace sparkplan::test {

/// A plan in the format of cases/*/plan.json: empty fields are left out, multi-line text is a list.
Value describe_plan(const NodePlan& plan, const std::vector<Diagnostic>& diagnostics);

}  // namespace sparkplan::test
