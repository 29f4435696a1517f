#include "tests/support/step_runner.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "engine/resource/artifact.h"

namespace sparkplan::test {
namespace {

Result<void> carry_out(const Step& step, const ResourceType& type, Node& node) {
  if (!same_state(read_artifact(step.artifact, type, node), step.before)) {
    return failure(ErrorCode::kStalePlan, step.artifact.str() + " is not as planned on");
  }
  SPARK_CHECK(apply_artifact(step.artifact, step.after, type, node));
  if (!same_state(read_artifact(step.artifact, type, node), step.after)) {
    return failure(ErrorCode::kVerifyFailed, step.artifact.str() + " is not as written");
  }
  return {};
}

Result<const ResourceType*> type_of(const Step& step, const Registry& registry) {
  const ResourceType* type = registry.find(step.type);
  if (type == nullptr) return failure(ErrorCode::kBug, "no type " + step.type);
  return type;
}

/// The first objection from the node's own tools.
std::optional<Error> objection_to(const NodePlan& plan, const Registry& registry, Node& node) {
  for (const auto& type : registry.types()) {
    std::vector<Step> steps;
    std::copy_if(plan.steps.begin(), plan.steps.end(), std::back_inserter(steps),
                 [&](const Step& step) { return step.type == type->info().name; });
    if (steps.empty()) continue;
    if (const auto objections = type->prepare(steps, changes_ahead(plan.steps), node); !objections.empty())
      return objections.front().error;
  }
  return std::nullopt;
}

}  // namespace

StepRun run_steps(const NodePlan& plan, const Registry& registry, Node& node) {
  StepRun run;
  run.error = objection_to(plan, registry, node);
  if (run.error) return run;
  for (const Step& step : plan.steps) {
    const Result<const ResourceType*> type = type_of(step, registry);
    Result<void> result = type ? carry_out(step, **type, node) : Result<void>(failure(type.error()));
    run.done.push_back(step);
    if (result) continue;
    run.error = std::move(result).error();
    // A failed step may still have had its effect.
    std::vector<Step> group;
    std::copy_if(run.done.begin(), run.done.end(), std::back_inserter(group),
                 [&](const Step& one) { return one.group == step.group; });
    if (run.error->code == ErrorCode::kStalePlan) group.pop_back();
    if (Result<void> undone = undo_steps(group, registry, node); !undone) {
      run.error = std::move(undone).error().within("undo");
    }
    std::erase_if(run.done, [&](const Step& one) { return one.group == step.group; });
    break;
  }
  return run;
}

Result<void> undo_steps(const std::vector<Step>& done, const Registry& registry, Node& node) {
  for (const bool activates : {false, true}) {
    for (auto step = done.rbegin(); step != done.rend(); ++step) {
      if (step->activates != activates) continue;
      SPARK_TRY(const ResourceType* type, type_of(*step, registry));
      if (!activates && same_state(read_artifact(step->artifact, *type, node), step->before)) continue;
      SPARK_CHECK(apply_artifact(step->artifact, step->before, *type, node));
    }
  }
  return {};
}

void remember(const NodePlan& plan, const std::vector<Step>& done, Manifest& manifest) {
  std::map<ResourceId, Value> values = plan.resulting;
  for (const auto& [id, value] : plan.after_steps) {
    if (value.is_null()) {
      values.erase(id);
    } else {
      values[id] = value;
    }
  }
  std::map<ResourceId, ManagedResource> resources;
  for (const auto& [id, value] : values) {
    ManagedResource& managed = resources[id];
    if (const auto known = manifest.resources.find(id); known != manifest.resources.end()) managed = known->second;
    managed.last_applied = value;
  }
  manifest.resources = std::move(resources);
  for (const Step& step : done) {
    const auto [artifact, added] = manifest.artifacts.try_emplace(step.artifact);
    if (added) artifact->second.original = step.before;
    artifact->second.type = step.type;
    artifact->second.written_digest = digest(step.after);
    for (const ResourceId& id : step.resources) {
      const auto managed = manifest.resources.find(id);
      if (managed == manifest.resources.end()) continue;
      std::vector<ArtifactId>& lives_in = managed->second.artifacts;
      if (std::find(lives_in.begin(), lives_in.end(), step.artifact) == lives_in.end()) {
        lives_in.push_back(step.artifact);
      }
    }
  }
  std::erase_if(manifest.artifacts, [&](const auto& artifact) {
    return std::none_of(manifest.resources.begin(), manifest.resources.end(),
                        [&](const auto& resource) { return resource.first.type == artifact.second.type; });
  });
}

}  // namespace sparkplan::test
