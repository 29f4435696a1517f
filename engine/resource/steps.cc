#include "engine/resource/steps.h"

#include <utility>

#include "engine/resource/artifact.h"

namespace sparkplan {

Step step_for(const ArtifactId& artifact, const ResourceId& resource, const TypeInfo& info) {
  Step step;
  step.type = info.name;
  step.artifact = artifact;
  step.phase = info.phase;
  step.before = step.after = Absent{};
  step.resources = {resource};
  step.group = info.name;
  return step;
}

std::optional<Step> own_step(const ArtifactId& artifact, std::optional<Observation> wanted, const ResourceId& resource,
                             const StepsInput& input, const TypeInfo& info) {
  const Observation* now = input.seen(artifact);
  if (now == nullptr || std::holds_alternative<Error>(*now)) return std::nullopt;
  const Observation* original = input.original(artifact);
  if (!wanted && original != nullptr) wanted = *original;
  if (!wanted || same_state(*now, *wanted)) return std::nullopt;
  Step step = step_for(artifact, resource, info);
  step.before = *now;
  step.after = *std::move(wanted);
  step.reversible = info.reversible_of_removal;
  return step;
}

void append(std::vector<Step>& steps, std::optional<Step> step) {
  if (step) steps.push_back(*std::move(step));
}

}  // namespace sparkplan
