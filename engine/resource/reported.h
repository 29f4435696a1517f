#pragma once

#include <cstddef>
#include <map>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/core/shape.h"
#include "engine/model/manifest.h"
#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "engine/resource/registry.h"

/// What a node says of itself, held to TypeInfo::reported of the types of this build before anything else reads it.
/// Everything here is pure. Errors of all functions: kInvalidInput, with the path to what is wrong: "observed sysctl
/// net.core.somaxconn: running: expected text, found list".
namespace sparkplan {

/// So many resources, and so many artifacts, of all types together.
inline constexpr std::size_t kMostManaged = 50'000;
/// Bytes of a resource's or an artifact's name: a path has at most 4096. Source: PATH_MAX, linux/limits.h.
inline constexpr std::size_t kLongestName = 4096;

/// The Value of an artifact: of the engine's own kinds, or as the type has described it.
/// Errors: also for a kind that is neither.
Result<void> check_artifact(const ArtifactId& id, const Observation& observation, const ResourceType& type);

/// Drops what was not asked for, and holds the rest to the shapes of its types: types and resources that are not in
/// `asked`, and claims about them or about another type's. `asked` is names by type, as they were sent to the node.
Result<void> check_observed(const std::map<std::string, std::vector<std::string>>& asked, const Registry& registry,
                            ObservedState& observed);

/// What sparkplan has written down on the node: an original or a value of a type that this build does not know is held
/// to Shape::anything(), as nothing but a report reads it.
Result<void> check_manifest(const Manifest& manifest, const Registry& registry);

/// Drops the exports of types that were not asked for or do not export, and holds the rest to the shapes of their
/// types. kOutdatedExport goes, too: that is the controller's to say.
Result<void> check_exports(const std::set<std::string>& asked, const Registry& registry,
                           std::map<std::string, Value>& exports);

/// What undoes a run, by the node's own journal.
Result<void> check_steps(std::span<const Step> steps, const Registry& registry);
Result<void> check_managed(const ResourceId& id, const Value& last_applied, const Registry& registry);

}  // namespace sparkplan
