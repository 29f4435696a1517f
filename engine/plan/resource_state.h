#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/planner.h"

// Internal to engine/plan: the verdict on each resource, from one observation.

namespace sparkplan {

enum class ResourceVerdict : std::uint8_t {
  kInSync,
  kChange,   ///< Created or updated by this plan.
  kWaiting,  ///< Has an Unknown, or depends on a resource that has one.
  kBlocked,
  kNotApplicable,
  kRemove,
  kKeptOrphan,
  kGone,  ///< No longer desired and already absent.
};

struct ResourceState {
  ResourceId id;
  ResourceVerdict verdict = ResourceVerdict::kInSync;
  bool selected = true;
  const Resource* desired = nullptr;    ///< Null: only in the manifest.
  const Value* last_applied = nullptr;  ///< Null: not in the manifest.
  const Present* present = nullptr;     ///< Null for every other observation.
  bool could_not_look = false;          ///< The observation is an Error or missing.
  std::optional<Change> change;         ///< For kChange, kWaiting and kRemove.
  std::optional<Error> error;           ///< For kBlocked.
  std::string reason;                   ///< For kNotApplicable.
  bool more_to_come = false;            ///< For kChange: some of its fields are Unknown and wait.

  void block(Error why);
  /// True if this plan's steps carry it out.
  bool carried_out() const {
    return selected && (verdict == ResourceVerdict::kChange || verdict == ResourceVerdict::kRemove);
  }
};

using ResourceStates = std::map<ResourceId, ResourceState>;

/// Every resource in the file or in the manifest, each judged by itself.
ResourceStates judge_resources(const NodePlanInput& input, const Registry& registry);

/// True if the file declares the resource, or may declare it, and its desired state could not be determined.
bool is_left_open(const ResourceId& id, const NodePlanInput& input);

/// Checks each resource with a pending change that names in `after` a resource this plan will not bring in sync. It is
/// blocked, or waits if the other resource waits. All members of a cycle are blocked.
void hold_back_dependents(ResourceStates& states, const NodePlanInput& input);

/// By phase, otherwise in the given order. A step never runs before a step that its resources name in `after`. Such
/// steps are listed in its `needs`.
void order_steps(std::vector<Step>& steps, const ResourceStates& states);

/// The desired value for the manifest: without the fields that this node cannot have, and with the Unknowns that it has
/// settled.
Value settled_value(const ResourceState& state);

/// The planning that concerns one type at a time. Adds steps and TYPE/@file changes to `plan`. May block changes whose
/// artifact could not be read.
void plan_steps_of_type(const ResourceType& type, ResourceStates& states, const NodePlanInput& input, NodePlan& plan);

}  // namespace sparkplan
