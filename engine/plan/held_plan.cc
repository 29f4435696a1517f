#include "engine/plan/held_plan.h"

#include <algorithm>
#include <string>

#include "engine/plan/change_comparison.h"
#include "engine/plan/companions.h"
#include "engine/plan/plan_index.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

template <class Range, class Matches>
bool any_of(const Range& range, Matches matches) {
  return std::any_of(range.begin(), range.end(), matches);
}

struct ComparedPlans {
  const NodePlan& saved;
  const NodePlan& now;
  PlanIndex saved_index;
  PlanIndex now_index;
  ComparedSteps steps;
};

std::set<ResourceId> planned(const NodePlan& plan) {
  std::set<ResourceId> ids(plan.waiting.begin(), plan.waiting.end());
  for (const Change& change : plan.changes) {
    if (change.origin != Origin::kForeign) ids.insert(change.id);
  }
  return ids;
}

Error stale(std::string why) {
  return make_error(ErrorCode::kStalePlan, std::move(why), "make a new plan: sparkplan plan -o PLAN");
}

bool same_foreign(const PlanIndex& saved, const PlanIndex& now, const ResourceId& id) {
  const auto then = saved.foreign_changes_of(id);
  const auto found = now.foreign_changes_of(id);
  return std::equal(then.begin(), then.end(), found.begin(), found.end(),
                    [](const Change* a, const Change* b) { return !why_shown_otherwise(*a, *b); });
}

/// The resource's kept fields; empty for most.
using KeptPaths = std::set<std::string>;

/// A displayed file contains the fields of all resources of its type. Its content is compared by its lines, as a step.
const KeptPaths& kept_of(const KeptFields& kept, const ResourceId& id) {
  static const KeptPaths none;
  static const KeptPaths content{"content"};
  if (id.name == kWholeFileName)
    return any_of(kept, [&](const auto& one) { return one.first.type == id.type; }) ? content : none;
  const auto found = kept.find(id);
  return found == kept.end() ? none : found->second;
}

/// True if the resource waited for a kept field.
bool waited_for(const KeptPaths& kept, const std::vector<const Change*>& changes) {
  return any_of(changes, [&](const Change* change) {
    return any_of(change->fields, [&](const FieldChange& field) {
      return field.after.contains_unknown() && kept.contains(field.path);
    });
  });
}

/// True if the saved plan shows kept fields of the resource, and nothing else.
bool is_kept_whole(const PlanIndex& saved, const PlanIndex& now, const ResourceId& id, const KeptPaths& kept) {
  const auto then = saved.changes_of(id);
  return id.name != kWholeFileName && !kept.empty() && !then.empty() && now.changes_of(id).empty() && !now.waits(id) &&
         std::all_of(then.begin(), then.end(), [&](const Change* change) {
           return std::all_of(change->fields.begin(), change->fields.end(),
                              [&](const FieldChange& field) { return kept.contains(field.path); });
         });
}

std::optional<std::string> why_changes_differ(const PlanIndex& saved, const PlanIndex& now, const ResourceId& id,
                                              const KeptPaths& kept) {
  const auto then = saved.changes_of(id);
  const auto found = now.changes_of(id);
  if (found.empty()) return "it already has the planned state, without this plan";
  if (then.size() < found.size()) return "the plan does not show all that would be changed";
  if (then.size() > found.size()) return "the plan shows a change that is no longer needed";
  for (std::size_t i = 0; i < then.size(); ++i) {
    auto why =
        kept.empty() ? why_shown_otherwise(*then[i], *found[i]) : why_rest_shown_otherwise(*then[i], *found[i], kept);
    if (why) return why;
  }
  const bool waited = saved.waits(id);
  if (waited && !now.waits(id) && !waited_for(kept, then))
    return "the plan shows it as waiting, but it no longer waits";
  if (!waited && now.waits(id)) return "it would have to wait, which the plan does not show";
  if (!same_foreign(saved, now, id)) return "other files set it differently than the plan shows";
  return std::nullopt;
}

Value without(Value value, const KeptPaths& kept) {
  if (Value::Map* entries = value.entries())
    std::erase_if(*entries, [&](const MapEntry& entry) { return kept.contains(entry.key); });
  return value;
}

/// The value for the manifest, which also determines how a change is displayed.
bool same_outcome(const ComparedPlans& plans, const ResourceId& id, const KeptPaths& kept) {
  const auto& saved = plans.saved.after_steps;
  const auto& now = plans.now.after_steps;
  const auto then = saved.find(id);
  const auto found = now.find(id);
  if (found == now.end()) {
    // Without its kept fields, the resource may have nothing left to do in this stage.
    const bool only_waits = !kept.empty() && plans.saved_index.waits(id) && plans.now_index.waits(id);
    return then == saved.end() || only_waits;
  }
  if (then == saved.end()) return false;
  return kept.empty() ? same_shown(then->second, found->second)
                      : same_shown(without(then->second, kept), without(found->second, kept));
}

/// The first of the steps for that artifact; null without one. `steps` are sorted by artifact.
const Step* first_step_on(const ArtifactId& artifact, const std::vector<const Step*>& steps) {
  const auto artifact_of = [](const Step* step) -> const ArtifactId& { return step->artifact; };
  const auto found = std::ranges::lower_bound(steps, artifact, {}, artifact_of);
  return found == steps.end() || (*found)->artifact != artifact ? nullptr : *found;
}

/// The steps may be fewer: some were for kept fields only.
std::optional<std::string> why_steps_do_more(const std::vector<const Step*>& then,
                                             const std::vector<const Step*>& found, ComparedSteps& compared) {
  for (const Step* step : found) {
    const Step* twin = first_step_on(step->artifact, then);
    if (twin == nullptr) return step->artifact.name + " would have to be changed as well";
    if (const auto& why = compared.why_more_than(*twin, *step)) return why;
  }
  return std::nullopt;
}

std::optional<std::string> why_steps_differ(const std::vector<const Step*>& then, const std::vector<const Step*>& found,
                                            ComparedSteps& compared) {
  for (const Step* step : then) {
    const Step* twin = first_step_on(step->artifact, found);
    if (twin == nullptr) return step->artifact.name + " no longer has to be changed for it";
    if (!compared.same_before(*step, *twin)) return step->artifact.name + " was changed since the plan was made";
  }
  for (const Step* step : found) {
    if (first_step_on(step->artifact, then) == nullptr)
      return step->artifact.name + " would have to be changed as well";
  }
  if (then.size() != found.size()) return "it would be changed in another way than planned";
  for (std::size_t i = 0; i < then.size(); ++i) {
    if (const auto& why = compared.why_another(*then[i], *found[i])) return why;
  }
  return std::nullopt;
}

/// True if the displayed contents of files are those of the steps. Else an edited plan could display another one.
bool shows_contents(const std::vector<const Change*>& changes, const std::vector<const Step*>& steps) {
  const auto is_content = [](const Value& shown, const Observation& state) {
    const auto content = content_of(state);
    return shown == (content ? Value(std::string(*content)) : Value());
  };
  return std::all_of(changes.begin(), changes.end(), [&](const Change* change) {
    return any_of(change->fields, [&](const FieldChange& field) {
      return field.path == "content" && any_of(steps, [&](const Step* step) {
               return is_content(field.before, step->before) && is_content(field.after, step->after);
             });
    });
  });
}

/// Why the change differs from the plan; nothing if it is the same.
std::optional<Error> why_stale(ComparedPlans& plans, const ResourceId& id, const KeptPaths& kept) {
  const PlanIndex& saved = plans.saved_index;
  const PlanIndex& now = plans.now_index;
  if (auto why = why_changes_differ(saved, now, id, kept)) return stale(std::move(*why));
  const auto then = saved.steps_of(id);
  const auto found = now.steps_of(id);
  if (auto why =
          kept.empty() ? why_steps_differ(then, found, plans.steps) : why_steps_do_more(then, found, plans.steps))
    return stale(std::move(*why));
  if (id.name == kWholeFileName && !kept.empty() && !shows_contents(saved.changes_of(id), then))
    return stale("the plan shows another content than it writes");
  if (!same_outcome(plans, id, kept)) return stale("its new value would differ from the plan");
  return std::nullopt;
}

/// Resources whose remarks in the saved plan, apart from their change, are not true now.
std::vector<ResourceId> not_so_now(const ComparedPlans& plans, const std::set<ResourceId>& then_ids,
                                   const std::set<ResourceId>& now_ids) {
  const NodePlan& saved = plans.saved;
  const PlanIndex& then = plans.saved_index;
  const PlanIndex& now = plans.now_index;
  std::set<ResourceId> ids(saved.kept_orphans.begin(), saved.kept_orphans.end());
  for (const BlockedResource& one : saved.blocked) ids.insert(one.id);
  for (const SkippedResource& one : saved.not_applicable) ids.insert(one.id);
  for (const Change& change : saved.changes) ids.insert(change.id);
  std::vector<ResourceId> found;
  for (const ResourceId& id : ids) {
    const bool shown = then_ids.count(id) > 0;
    // Already reported as blocked, as stale, or as missing in the plan.
    if (shown != (now_ids.count(id) > 0)) continue;
    if (then.remarks_on(id) != now.remarks_on(id) || (!shown && !same_foreign(then, now, id))) found.push_back(id);
  }
  return found;
}

}  // namespace

HeldPlan hold_to(const NodePlan& saved, const NodePlan& now, const KeptFields& kept) {
  HeldPlan held;
  ComparedPlans plans{saved, now, PlanIndex(saved), PlanIndex(now), {}};
  const auto then_ids = planned(saved);
  for (const ResourceId& id : then_ids) {
    if (plans.now_index.is_blocked(id)) continue;
    const KeptPaths& kept_here = kept_of(kept, id);
    if (is_kept_whole(plans.saved_index, plans.now_index, id, kept_here)) continue;
    if (auto error = why_stale(plans, id, kept_here)) {
      held.stale.emplace(id, std::move(*error));
    } else {
      held.approved.insert(id);
    }
  }
  const auto now_ids = planned(now);
  for (const ResourceId& id : now_ids) {
    if (then_ids.count(id) == 0) held.not_held.push_back(id);
  }
  held.not_so_now = not_so_now(plans, then_ids, now_ids);
  withdraw_companions(now, plans.now_index, held);
  return held;
}

std::map<ResourceId, Error> beyond_what_was_shown(const NodePlan& saved, const NodePlan& now) {
  std::map<ResourceId, Error> beyond;
  const auto then_ids = planned(saved);
  const PlanIndex then(saved);
  for (const Change& change : now.changes) {
    if (change.origin == Origin::kForeign || then_ids.count(change.id) == 0) continue;
    std::optional<std::string> why = "the plan does not show it";
    for (const Change* one : then.changes_of(change.id)) {
      if (why) why = why_beyond(*one, change);
    }
    if (why) beyond.emplace(change.id, stale(std::move(*why)));
  }
  return beyond;
}

}  // namespace sparkplan
