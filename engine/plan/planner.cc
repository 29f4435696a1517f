#include "engine/plan/planner.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "engine/core/keyed_digest.h"
#include "engine/plan/resource_state.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"

namespace sparkplan {
namespace {

/// True for a value that takes more memory than a claim on it.
bool is_long(const Value& value) {
  constexpr std::size_t kUsualBytes = 256;
  return display(value).size() > kUsualBytes;
}

/// Lists the foreign files that contradict cluster.yaml. Apply cannot correct them, so they are only printed. A long
/// desired value is listed with the first claim alone: a node may make twenty on each resource.
void add_foreign_changes(const ObservedState& observed, const ResourceStates& states, NodePlan& plan) {
  std::set<const Value*> listed;
  for (const auto& [type, found] : observed.types) {
    for (const ForeignClaim& claim : found.foreign) {
      const auto at = states.find(claim.id);
      if (at == states.end()) continue;
      const ResourceState& state = at->second;
      if (state.desired == nullptr || !state.selected || state.verdict == ResourceVerdict::kNotApplicable) continue;
      const Value* wanted = claim.field.empty() ? &state.desired->desired : state.desired->desired.find(claim.field);
      if (wanted == nullptr) continue;       // The file does not set that field.
      if (claim.value == *wanted) continue;  // It sets the same value.
      if (!claim.harmless && !listed.insert(wanted).second && is_long(*wanted)) continue;
      Change change;
      change.id = claim.id;
      change.origin = Origin::kForeign;
      if (!claim.harmless) change.fields.push_back({claim.field, claim.value, *wanted});
      change.impact = state.desired->impact;
      change.reversible = state.desired->reversible;
      change.where = state.desired->where;
      change.note = claim.message.empty() ? claim.source : claim.source + " " + claim.message;
      plan.changes.push_back(std::move(change));
    }
  }
}

void list_not_applicable(const ResourceState& state, NodePlan& plan) {
  if (state.verdict == ResourceVerdict::kNotApplicable) plan.not_applicable.push_back({state.id, "", state.reason});
  if (state.desired == nullptr || state.present == nullptr) return;
  for (const auto& [field, reason] : state.present->not_applicable)
    plan.not_applicable.push_back({state.id, field, reason});
}

/// Moves each selected resource and its change to the list of the plan that matches its verdict.
void list_resource(ResourceState& state, NodePlan& plan) {
  if (!state.selected) return;
  list_not_applicable(state, plan);
  if (state.change) plan.changes.push_back(*std::exchange(state.change, std::nullopt));
  if (state.verdict == ResourceVerdict::kWaiting || state.more_to_come) plan.waiting.push_back(state.id);
  if (state.verdict == ResourceVerdict::kKeptOrphan) plan.kept_orphans.push_back(state.id);
  if (state.verdict == ResourceVerdict::kBlocked)
    plan.blocked.push_back({state.id, *state.error, state.desired != nullptr ? state.desired->where : SourceRange{}});
}

/// A step is as reversible as the least reversible of its changes; a text artifact is always restored completely.
void mark_reversibility(NodePlan& plan) {
  std::map<ResourceId, Reversible> of_change;
  for (const Change& change : plan.changes) {
    if (change.origin != Origin::kForeign) of_change[change.id] = change.reversible;
  }
  for (Step& step : plan.steps) {
    if (is_text_artifact(step.artifact)) continue;
    for (const ResourceId& id : step.resources) {
      if (const auto found = of_change.find(id); found != of_change.end())
        step.reversible = std::max(step.reversible, found->second);
    }
  }
}

std::map<ResourceId, Value> resulting_values(const ResourceStates& states) {
  std::map<ResourceId, Value> values;
  for (const auto& [id, state] : states) {
    if (state.selected && state.verdict == ResourceVerdict::kInSync) {
      values.emplace(id, settled_value(state));
    } else if (state.last_applied != nullptr && !(state.selected && state.verdict == ResourceVerdict::kGone)) {
      values.emplace(id, *state.last_applied);
    }
  }
  return values;
}

std::map<ResourceId, Value> values_after_steps(const ResourceStates& states) {
  std::map<ResourceId, Value> values;
  for (const auto& [id, state] : states) {
    if (!state.carried_out()) continue;
    values.emplace(id, state.verdict == ResourceVerdict::kRemove ? Value() : settled_value(state));
  }
  return values;
}

/// Settles the changes without steps; true if there was one. A removal is then complete: no artifact is left to
/// restore. Any other change would recur in every plan, so it is blocked.
bool settle_changes_without_steps(ResourceStates& states, const NodePlan& plan) {
  std::set<ResourceId> served;
  for (const Step& step : plan.steps) served.insert(step.resources.begin(), step.resources.end());
  bool settled = false;
  for (auto& [id, state] : states) {
    if (!state.carried_out() || served.contains(id)) continue;
    settled = true;
    if (state.verdict == ResourceVerdict::kRemove) {
      state.verdict = ResourceVerdict::kGone;
      state.change.reset();
    } else if (state.more_to_come) {
      state.verdict = ResourceVerdict::kWaiting;
    } else {
      // The observations of the resource and of its artifacts may contradict each other.
      state.block(make_error(ErrorCode::kFailed, "type " + id.type + " planned no step for it"));
    }
  }
  return settled;
}

/// An unreadable artifact blocks its resources only when steps are requested. That also blocks their dependents, so the
/// steps are requested again until nothing changes.
void plan_all_steps(ResourceStates& states, const NodePlanInput& input, const Registry& registry, NodePlan& plan) {
  const auto blocked = [&] {
    return std::count_if(states.begin(), states.end(),
                         [](const auto& entry) { return entry.second.verdict == ResourceVerdict::kBlocked; });
  };
  while (true) {
    hold_back_dependents(states, input);
    const auto blocked_before = blocked();
    plan.changes.clear();
    plan.steps.clear();
    plan.blocked.clear();
    for (const auto& type : registry.types()) plan_steps_of_type(*type, states, input, plan);
    if (blocked() == blocked_before && !settle_changes_without_steps(states, plan)) return;
  }
}

/// By phase, then id; foreign changes after the changes that apply carries out.
void sort_changes(NodePlan& plan, const Registry& registry) {
  std::map<std::string_view, Phase> phases;
  for (const auto& type : registry.types()) phases.emplace(type->info().name, type->info().phase);
  const auto key = [](const std::pair<Phase, Change>& one) {
    const Change& change = one.second;
    return std::tuple<Phase, const ResourceId&, bool>(one.first, change.id, change.origin == Origin::kForeign);
  };
  std::vector<std::pair<Phase, Change>> changes;
  changes.reserve(plan.changes.size());
  for (Change& change : plan.changes) {
    const auto known = phases.find(change.id.type);
    changes.emplace_back(known == phases.end() ? Phase::kPackages : known->second, std::move(change));
  }
  std::stable_sort(changes.begin(), changes.end(), [&](const auto& a, const auto& b) { return key(a) < key(b); });
  plan.changes.clear();
  for (auto& [phase, change] : changes) plan.changes.push_back(std::move(change));
}

}  // namespace

std::map<std::string, std::vector<std::string>> names_to_observe(const std::vector<Resource>& desired,
                                                                 const Manifest* manifest) {
  std::map<std::string, std::vector<std::string>> names;
  if (manifest != nullptr) names = names_managed(*manifest);
  for (const Resource& resource : desired) names[resource.id.type].push_back(resource.id.name);
  for (auto& [type, list] : names) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return names;
}

std::map<std::string, std::vector<std::string>> secrets_to_observe(const std::vector<Resource>& desired,
                                                                   const Manifest* manifest) {
  std::map<std::string, std::vector<std::string>> names;
  if (manifest != nullptr) names = secret_names(*manifest);
  for (const Resource& resource : desired) {
    if (holds_secret(resource.desired)) names[resource.id.type].push_back(resource.id.name);
  }
  for (auto& [type, list] : names) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return names;
}

NodePlan plan_node(const NodePlanInput& input, const Registry& registry) {
  NodePlan plan;
  if (input.manifest != nullptr) plan.managed_before = static_cast<int>(input.manifest->resources.size());
  ResourceStates states = judge_resources(input, registry);
  plan_all_steps(states, input, registry, plan);
  for (auto& [id, state] : states) list_resource(state, plan);
  if (input.observed != nullptr) add_foreign_changes(*input.observed, states, plan);
  sort_changes(plan, registry);
  std::sort(plan.blocked.begin(), plan.blocked.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  order_steps(plan.steps, states);
  mark_reversibility(plan);
  plan.resulting = resulting_values(states);
  plan.after_steps = values_after_steps(states);
  return plan;
}

std::optional<Error> refusal(const NodePlan& plan, const Facts& own, const Registry& registry) {
  for (const auto& type : registry.types()) {
    std::vector<Change> changes;
    std::copy_if(plan.changes.begin(), plan.changes.end(), std::back_inserter(changes),
                 [&](const Change& change) { return change.id.type == type->info().name; });
    if (changes.empty()) continue;
    if (auto refused = type->refuses(changes, own)) return refused;
  }
  return std::nullopt;
}

bool needs_prune_consent(const NodePlan& plan) {
  const auto removals = std::count_if(plan.changes.begin(), plan.changes.end(), [](const Change& change) {
    return change.action == Action::kRemove && change.id.name != kWholeFileName;
  });
  return removals >= 5 && 2 * removals > plan.managed_before;
}

}  // namespace sparkplan
