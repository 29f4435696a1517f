#include "engine/resource/steps.h"

#include <utility>
#include <variant>

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

std::optional<Step> text_artifact_step(const TextArtifact& artifact, const StepsInput& input, const TypeInfo& info) {
  const Observation* seen = input.seen(artifact.id);
  Observation before = seen == nullptr ? Absent{} : *seen;
  // The planner has blocked the resources of an artifact that could not be read.
  if (!std::holds_alternative<Absent>(before) && !std::holds_alternative<Present>(before)) return std::nullopt;

  std::optional<Observation> after;
  if (!artifact.content) {
    // Without an original, sparkplan never wrote it: a foreign file of the same name is not removed.
    if (const Observation* original = input.original(artifact.id)) after = *original;
  } else if (artifact.id.kind == block_artifact({}).kind) {
    after = block_present(*artifact.content);
  } else {
    after = Present{encode(FileContent{*artifact.content, artifact.mode, artifact.uid, artifact.gid}), {}};
  }
  if (!after || same_state(before, *after)) return std::nullopt;

  Step step = step_for(artifact.id, {}, info);
  step.before = std::move(before);
  step.after = *std::move(after);
  if (!artifact.group.empty()) step.group = artifact.group;
  step.resources.clear();
  for (const Change& change : input.changes) {
    if (!artifact.concerns || artifact.concerns(change)) step.resources.push_back(change.id);
  }
  return step;
}

std::optional<Step> text_artifact_step(const ArtifactId& artifact, const std::optional<std::string>& content,
                                       std::uint32_t mode, const StepsInput& input, const TypeInfo& info) {
  return text_artifact_step(TextArtifact{artifact, content, mode, {}, {}}, input, info);
}

}  // namespace sparkplan
