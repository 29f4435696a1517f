#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/plan/planner.h"

// Internal to engine/plan: what one look at each resource says has to be done about it.

namespace sparkplan {

enum class Verdict : std::uint8_t {
  kInSync,
  kChange,   ///< Created or updated by this plan.
  kWaiting,  ///< Holds an Unknown, or needs something that does.
  kBlocked,
  kNotApplicable,
  kRemove,
  kKeptOrphan,
  kGone,  ///< No longer desired and no longer there.
};

struct ResourceState {
  ResourceId id;
  Verdict verdict = Verdict::kInSync;
  bool selected = true;
  const Resource* desired = nullptr;    ///< Null: only the manifest knows it.
  const Value* last_applied = nullptr;  ///< Null: the manifest does not know it.
  const Present* present = nullptr;     ///< Null for every other observation.
  bool could_not_look = false;          ///< The observation is an Error or missing.
  std::optional<Change> change;         ///< For kChange, kWaiting and kRemove.
  std::optional<Error> error;           ///< For kBlocked.
  std::string reason;                   ///< For kNotApplicable.
  bool more_to_come = false;            ///< For kChange: the rest of it is Unknown and waits.

  void block(Error why);
  /// Carried out by this plan's steps.
  bool carried_out() const { return selected && (verdict == Verdict::kChange || verdict == Verdict::kRemove); }
};

using ResourceStates = std::map<ResourceId, ResourceState>;

/// Every resource that the file asks for or the manifest knows, each judged by itself.
ResourceStates judge_resources(const NodePlanInput& input, const Registry& registry);

/// A resource that still has something to do and names in `after` what this plan will not bring in
/// sync is blocked, or waits when the other one waits. All members of a cycle are blocked.
void hold_back_dependents(ResourceStates& states);

/// By phase, otherwise as given; a step never runs before one that its resources name in `after`,
/// and says so in its `needs`.
void order_steps(std::vector<Step>& steps, const ResourceStates& states);

/// The desired value without what this node cannot have, and with what it has settled of the
/// Unknowns: what the manifest may remember.
Value settled_value(const ResourceState& state);

/// Everything else that concerns one type at a time. Adds steps and TYPE/@file changes to `plan`;
/// may turn changes into blocked ones when their artifact could not be read.
void plan_steps_of_type(const ResourceType& type, ResourceStates& states, const NodePlanInput& input, NodePlan& plan);

}  // namespace sparkplan
