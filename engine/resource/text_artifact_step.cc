#include "engine/resource/text_artifact_step.h"

#include <utility>
#include <variant>

#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"

namespace sparkplan {

std::string ownership_header(std::string_view comment) {
  const std::string lead = std::string(comment) + " ";
  return lead + "Written by sparkplan from cluster.yaml: changes made here are overwritten.\n" + lead +
         "To change a value, edit cluster.yaml and run \"sparkplan apply\".\n";
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
