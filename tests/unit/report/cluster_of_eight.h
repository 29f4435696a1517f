#pragma once

#include <string>

#include "engine/plan/report.h"

// Reports of eight nodes with the whole profile of a DGX Spark, behind one switch.
namespace sparkplan::testing {

/// The first plan of eight machines that sparkplan has never changed.
Report first_plan_of_eight();
/// The report after the apply of this plan; one change on one node has failed.
Report first_apply_of_eight();
/// The same reports with the variables of all frameworks, as `profile: dgx-spark` with a fabric derives them.
Report with_frameworks(Report report);
/// One node was edited, one is unreachable, one resource of all nodes is blocked.
Report trouble_among_eight();
/// A kernel parameter, two files and an environment variable are no longer in the file.
Report removals_on_eight();

}  // namespace sparkplan::testing
