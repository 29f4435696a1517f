#include "engine/resource/text_artifact_step.h"

#include <utility>
#include <variant>

#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

/// What the artifact was before sparkplan came; nothing when sparkplan never wrote it, so that
/// somebody else's file of the same name is not removed.
std::optional<Observation> original(const ArtifactId& artifact, const StepsInput& input) {
  const auto found = input.originals.find(artifact);
  if (found == input.originals.end()) return std::nullopt;
  return found->second;
}

}  // namespace

std::string ownership_header(std::string_view comment) {
  const std::string lead = std::string(comment) + " ";
  return lead + "Written by sparkplan from cluster.yaml: changes made here are overwritten.\n" + lead +
         "To change a value, edit cluster.yaml and run \"sparkplan apply\".\n";
}

std::optional<Step> text_artifact_step(const TextArtifact& artifact, const StepsInput& input, const TypeInfo& info) {
  Observation before = Absent{};
  if (const auto found = input.observed.artifacts.find(artifact.id); found != input.observed.artifacts.end()) {
    before = found->second;
  }
  // The planner has blocked the resources of an artifact that nobody could look at.
  if (!std::holds_alternative<Absent>(before) && !std::holds_alternative<Present>(before)) return std::nullopt;

  std::optional<Observation> after;
  if (!artifact.content) {
    after = original(artifact.id, input);
  } else if (artifact.id.kind == block_artifact({}).kind) {
    after = block_present(*artifact.content);
  } else {
    after = Present{encode(FileContent{*artifact.content, artifact.mode, artifact.uid, artifact.gid}), {}};
  }
  if (!after || same_state(before, *after)) return std::nullopt;

  Step step;
  step.type = info.name;
  step.artifact = artifact.id;
  step.phase = info.phase;
  step.before = std::move(before);
  step.after = *std::move(after);
  step.group = artifact.group.empty() ? info.name : artifact.group;
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
