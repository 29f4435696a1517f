#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/plan.h"
#include "engine/resource/resource_type.h"

/// Functions for ResourceType::steps(). All are pure.
namespace sparkplan {

/// A step on `artifact` that one resource needs, in the group of the whole type. `before` and `after` are Absent.
Step step_for(const ArtifactId& artifact, const ResourceId& resource, const TypeInfo& info);

/// The step that brings an artifact of a type's own kind to the state `wanted`; without `wanted` to its original from
/// before sparkplan. It is as reversible as the removal of a resource. Nothing if the artifact was not observed, is in
/// that state already, or has no original.
std::optional<Step> own_step(const ArtifactId& artifact, std::optional<Observation> wanted, const ResourceId& resource,
                             const StepsInput& input, const TypeInfo& info);

/// Adds `step` if there is one.
void append(std::vector<Step>& steps, std::optional<Step> step);

/// The desired content of a file or block.
struct TextArtifact {
  ArtifactId id;
  std::optional<std::string> content;  ///< Nothing: sparkplan's content is removed.
  std::uint32_t mode = 0644;
  std::string group;  ///< Step::group; empty: the type's name.
  /// The changes that need this artifact. Empty: all of them.
  std::function<bool(const Change&)> concerns;
  std::uint32_t uid = 0;  ///< Of a file; a block's file keeps its owner.
  std::uint32_t gid = 0;
};
std::optional<Step> text_artifact_step(const TextArtifact& artifact, const StepsInput& input, const TypeInfo& info);

/// The step that gives a file or block artifact this `content`; nothing if it has it already. Without `content`, the
/// step restores the original from before sparkplan, or removes the artifact if it was absent. The step names every
/// change of `input`.
std::optional<Step> text_artifact_step(const ArtifactId& artifact, const std::optional<std::string>& content,
                                       std::uint32_t mode, const StepsInput& input, const TypeInfo& info);

}  // namespace sparkplan
