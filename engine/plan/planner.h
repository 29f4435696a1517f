#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/model/manifest.h"
#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// Everything that decides what has to happen on one node. All of it is data: planning is pure.
struct NodePlanInput {
  std::vector<Resource> desired;
  const ObservedState* observed = nullptr;
  const Manifest* manifest = nullptr;  ///< Null: the node was never applied.
  /// False for resources that --only/--exclude leave alone. Empty: everything is selected.
  std::function<bool(const ResourceId&)> selected;
  /// Resources whose steps failed earlier in this run; they are shown as blocked and left as they are.
  std::map<ResourceId, Error> failed;
  /// Types of which more is asked for than could be told: none of their resources is removed.
  std::set<std::string> incomplete_types = {};
};

/// What has to be observed: desired names and the names the manifest knows, by type.
std::map<std::string, std::vector<std::string>> names_to_observe(const std::vector<Resource>& desired,
                                                                 const Manifest* manifest);

/// Pure. desired x observed x last applied -> changes and steps.
/// - A desired resource that holds an Unknown which the observed value does not settle is `waiting`.
/// - An Error observation (or a failed step) blocks the resource and whatever names it in `after`.
/// - A resource of the manifest that is no longer desired is removed if its value is still what was
///   last applied, else it is a kept orphan.
/// - origin is drift when the observed value differs from the last applied one in any changed field
///   (also when the file changed as well), foreign when a ForeignClaim defeats it, else config.
/// - A text artifact that differs though none of its resources does becomes a change TYPE/@file.
/// Foreign changes never produce steps. Equal input gives equal output.
NodePlan plan_node(const NodePlanInput& input, const Registry& registry);

/// Pure. The first safety rule of a type against carrying out `plan`: ResourceType::refuses().
std::optional<Error> refusal(const NodePlan& plan, const Facts& own, const Registry& registry);

/// True when removing what `plan` removes needs --yes-prune: five or more and over half of what the
/// manifest holds.
bool needs_prune_consent(const NodePlan& plan);

}  // namespace sparkplan
