#pragma once

#include <optional>
#include <vector>

#include "engine/model/manifest.h"
#include "engine/model/plan.h"
#include "engine/node/node.h"
#include "engine/resource/registry.h"

namespace sparkplan::test {

/// What became of a plan's steps.
struct StepRun {
  std::vector<Step> done;      ///< In the order carried out; none of an undone group.
  std::optional<Error> error;  ///< Of the step that ended the run.
};

/// Carries out the steps as the agent does, without its journal: the artifact is compared with
/// `before`, changed, and read again. The first failure undoes the step's group, last first, and
/// ends the run.
StepRun run_steps(const NodePlan& plan, const Registry& registry, Node& node);

/// Makes every artifact of `done` be what it was before: last first, what activates after the rest.
/// Errors: as apply_artifact(); the first one ends it.
Result<void> undo_steps(const std::vector<Step>& done, const Registry& registry, Node& node);

/// What the agent writes into the manifest after a run without failures.
void remember(const NodePlan& plan, const std::vector<Step>& done, Manifest& manifest);

}  // namespace sparkplan::test
