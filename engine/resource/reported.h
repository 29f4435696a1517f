#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/manifest.h"
#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "engine/resource/registry.h"

/// Checks what a node reports about itself against TypeInfo::reported of this build's types, before any other use.
/// Everything here is pure. Errors of all functions: kInvalidInput, with the path to the wrong value: "observed sysctl
/// net.core.somaxconn: running: expected text, found list".
namespace sparkplan {

/// Limit for the resources of all types together, and for their artifacts.
inline constexpr std::size_t kMostManaged = kMostResources;

/// Checks the Value of an artifact: of the engine's own kinds, or of a kind that the type describes.
/// Errors: also for any other kind.
Result<void> check_artifact(const ArtifactId& id, const Observation& observation, const ResourceType& type);

/// Drops what was not requested: types and resources missing in `asked`, and claims on them or on resources of another
/// type. Of the claims on one resource it keeps twenty, each once. Checks the rest against the shapes of its types.
/// `asked` lists names by type, as in the request to the node.
Result<void> check_observed(const std::map<std::string, std::vector<std::string>>& asked, const Registry& registry,
                            ObservedState& observed);

/// Checks the node's manifest. Originals and values of a type unknown to this build are checked against
/// Shape::anything(), because only reports read them.
Result<void> check_manifest(const Manifest& manifest, const Registry& registry);

/// Drops the exports of types that were not requested or export nothing. Checks the rest against the shapes of their
/// types. Also drops the field kOutdatedExport: only the controller sets it.
Result<void> check_exports(const std::set<std::string>& asked, const Registry& registry,
                           std::map<std::string, Value>& exports);

/// Checks the steps that undo a run, as the node's journal lists them.
Result<void> check_steps(std::span<const Step> steps, const Registry& registry);
Result<void> check_managed(const ResourceId& id, const Value& last_applied, const Registry& registry);

}  // namespace sparkplan
