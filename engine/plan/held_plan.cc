#include "engine/plan/held_plan.h"

#include <algorithm>
#include <string>

#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

template <class Range, class Matches>
bool any_of(const Range& range, Matches matches) {
  return std::any_of(range.begin(), range.end(), matches);
}

bool contains(const std::vector<ResourceId>& ids, const ResourceId& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

const Change* find_change(const NodePlan& plan, const ResourceId& id) {
  const auto found = std::find_if(plan.changes.begin(), plan.changes.end(), [&](const Change& change) {
    return change.id == id && change.origin != Origin::kForeign;
  });
  return found == plan.changes.end() ? nullptr : &*found;
}

std::set<ResourceId> planned(const NodePlan& plan) {
  std::set<ResourceId> ids(plan.waiting.begin(), plan.waiting.end());
  for (const Change& change : plan.changes) {
    if (change.origin != Origin::kForeign) ids.insert(change.id);
  }
  return ids;
}

std::map<ArtifactId, const Step*> steps_of(const NodePlan& plan, const ResourceId& id) {
  std::map<ArtifactId, const Step*> steps;
  for (const Step& step : plan.steps) {
    if (contains(step.resources, id)) steps.emplace(step.artifact, &step);
  }
  return steps;
}

Error stale(std::string why) {
  return Error{ErrorCode::kStalePlan, std::move(why), {}, std::nullopt, "make another plan: sparkplan plan -o PLAN"};
}

/// Fields that both tell of were the same before.
bool same_beginning(const Change* then, const Change* now) {
  if (then == nullptr || now == nullptr) return true;
  return std::all_of(then->fields.begin(), then->fields.end(), [&](const FieldChange& field) {
    return std::all_of(now->fields.begin(), now->fields.end(), [&](const FieldChange& other) {
      return field.path != other.path || field.before == other.before;
    });
  });
}

/// Why the change is not what was planned; nothing when it is.
std::optional<Error> why_stale(const NodePlan& saved, const NodePlan& now, const ResourceId& id) {
  const bool waited = contains(saved.waiting, id);
  if (find_change(now, id) == nullptr && !contains(now.waiting, id))
    return stale("it was as planned already, without this plan");
  if (!same_beginning(find_change(saved, id), find_change(now, id)))
    return stale("it was changed on the node since the plan was made");
  const auto then_steps = steps_of(saved, id);
  const auto now_steps = steps_of(now, id);
  for (const auto& [artifact, step] : then_steps) {
    const auto found = now_steps.find(artifact);
    if (found == now_steps.end()) return stale(artifact.name + " no longer has to be changed for it");
    if (!same_state(step->before, found->second->before))
      return stale(artifact.name + " was changed since the plan was made");
    if (!waited && !same_state(step->after, found->second->after))
      return stale(artifact.name + " would have to become something else than was planned");
  }
  for (const auto& [artifact, step] : now_steps) {
    if (!waited && then_steps.count(artifact) == 0) return stale(artifact.name + " would have to be changed as well");
  }
  return std::nullopt;
}

/// What is done, or undone, together with something that is not approved cannot be done without it.
void withdraw_companions(const NodePlan& now, HeldPlan& held) {
  const auto approved = [&](const ResourceId& id) { return held.approved.count(id) > 0; };
  const auto whole = [&](const Step& step) {
    return std::all_of(step.resources.begin(), step.resources.end(), approved);
  };
  bool withdrawn = true;
  while (withdrawn) {
    withdrawn = false;
    for (const Step& step : now.steps) {
      const bool with_others = any_of(now.steps, [&](const Step& other) {
        const bool needed = any_of(step.needs, [&](const ResourceId& id) { return contains(other.resources, id); });
        const bool together = other.type == step.type && other.group == step.group;
        return (needed || together) && !whole(other);
      });
      if (!with_others) continue;
      for (const ResourceId& id : step.resources) {
        if (held.approved.erase(id) == 0) continue;
        held.stale.emplace(id, stale("what it goes together with (" + step.artifact.name +
                                     ") is not as it was when the plan was made"));
        withdrawn = true;
      }
    }
  }
}

}  // namespace

HeldPlan hold_to(const NodePlan& saved, const NodePlan& now) {
  HeldPlan held;
  const auto then_ids = planned(saved);
  for (const ResourceId& id : then_ids) {
    if (any_of(now.blocked, [&](const BlockedResource& blocked) { return blocked.id == id; })) continue;
    if (auto error = why_stale(saved, now, id)) {
      held.stale.emplace(id, std::move(*error));
    } else {
      held.approved.insert(id);
    }
  }
  for (const ResourceId& id : planned(now)) {
    if (then_ids.count(id) == 0) held.not_held.push_back(id);
  }
  withdraw_companions(now, held);
  return held;
}

}  // namespace sparkplan
