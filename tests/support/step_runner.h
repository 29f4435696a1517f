#pragma once

#include <optional>
#include <vector>

#include "engine/model/manifest.h"
#include "engine/model/plan.h"
#include "engine/node/node.h"
#include "engine/resource/registry.h"

namespace sparkplan::test {

/// The result of a plan's steps.
struct StepRun {
  std::vector<Step> done;      ///< In the order of execution, without undone groups.
  std::optional<Error> error;  ///< The error of the step that ended the run.
};

/// Executes the steps as the agent does, without its journal. Each artifact is compared with `before`, changed, and
/// read again. The first failure undoes the step's group, last step first, and ends the run.
StepRun run_steps(const NodePlan& plan, const Registry& registry, Node& node);

/// Restores every artifact of `done`: last first, activating artifacts after the others. Errors: as apply_artifact();
/// the first error ends it.
Result<void> undo_steps(const std::vector<Step>& done, const Registry& registry, Node& node);

/// Writes into the manifest what the agent writes after a run without failures.
void remember(const NodePlan& plan, const std::vector<Step>& done, Manifest& manifest);

}  // namespace sparkplan::test
