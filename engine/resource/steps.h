#pragma once

#include <optional>
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

}  // namespace sparkplan
