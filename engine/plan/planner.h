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

/// All inputs of the plan for one node. They are plain data: planning is pure.
struct NodePlanInput {
  std::vector<Resource> desired;
  const ObservedState* observed = nullptr;
  const Manifest* manifest = nullptr;  ///< Null: the node was never applied.
  /// False for resources that --only/--exclude leave out. Empty: all are selected.
  std::function<bool(const ResourceId&)> selected;
  /// Resources whose steps failed earlier in this run; they are printed as blocked and left unchanged.
  std::map<ResourceId, Error> failed;
  /// Types whose declared resources could not all be determined: none of their resources is removed.
  std::set<std::string> incomplete_types = {};
  /// Declared resources without a value in `desired`: they are left unchanged.
  std::set<ResourceId> unresolved = {};
};

/// The names to observe: desired names and the names in the manifest, by type.
std::map<std::string, std::vector<std::string>> names_to_observe(const std::vector<Resource>& desired,
                                                                 const Manifest* manifest);

/// The names of names_to_observe() whose content is a secret, before the apply or after it. The node reports digests
/// of them, and never the content.
std::map<std::string, std::vector<std::string>> secrets_to_observe(const std::vector<Resource>& desired,
                                                                   const Manifest* manifest);

/// Pure. desired x observed x last applied -> changes and steps.
/// - A desired resource with an Unknown that the observed value does not settle is `waiting`.
/// - An Error observation (or a failed step) blocks the resource and all resources that name it in `after`.
/// - A resource of the manifest that is no longer desired is removed if its value is still the last applied one.
///   Otherwise it is a kept orphan.
/// - origin is drift when the observed value differs from the last applied one in any changed field, even if the file
///   changed too. It is foreign when a ForeignClaim overrides the resource, else config.
/// - A text artifact that differs although none of its resources does becomes a change TYPE/@file.
/// Foreign changes never produce steps. Equal input gives equal output.
NodePlan plan_node(const NodePlanInput& input, const Registry& registry);

/// Pure. The first safety rule of a type that refuses `plan`: ResourceType::refuses().
std::optional<Error> refusal(const NodePlan& plan, const Facts& own, const Registry& registry);

/// True when the removals in `plan` need --yes-prune: five or more, and over half of the resources in the manifest.
bool needs_prune_consent(const NodePlan& plan);

}  // namespace sparkplan
