#include "engine/plan/held_plan.h"

#include <algorithm>
#include <string>

#include "engine/plan/change_comparison.h"
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

/// The change that is carried out for the resource; for TYPE/@file one for each file. `foreign`: the displayed foreign
/// claims on it, and all other entries without a change.
std::vector<const Change*> changes_of(const NodePlan& plan, const ResourceId& id, bool foreign = false) {
  std::vector<const Change*> changes;
  for (const Change& change : plan.changes) {
    if (change.id == id && (change.origin == Origin::kForeign) == foreign) changes.push_back(&change);
  }
  return changes;
}

std::set<ResourceId> planned(const NodePlan& plan) {
  std::set<ResourceId> ids(plan.waiting.begin(), plan.waiting.end());
  for (const Change& change : plan.changes) {
    if (change.origin != Origin::kForeign) ids.insert(change.id);
  }
  return ids;
}

std::vector<const Step*> steps_of(const NodePlan& plan, const ResourceId& id) {
  std::vector<const Step*> steps;
  for (const Step& step : plan.steps) {
    if (contains(step.resources, id)) steps.push_back(&step);
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Step* a, const Step* b) { return a->artifact < b->artifact; });
  return steps;
}

Error stale(std::string why) {
  return make_error(ErrorCode::kStalePlan, std::move(why), "make a new plan: sparkplan plan -o PLAN");
}

/// Of a change that differs in nothing itself.
Error stale_beside(const Step& step) {
  return make_error(
      ErrorCode::kStalePlan,
      "a change that belongs with it (" + step.artifact.name + ") is not as it was when the plan was made",
      "make a new plan, or run `sparkplan apply` without one: it makes this change");
}

bool same_foreign(const NodePlan& saved, const NodePlan& now, const ResourceId& id) {
  const auto then = changes_of(saved, id, true);
  const auto found = changes_of(now, id, true);
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
bool is_kept_whole(const NodePlan& saved, const NodePlan& now, const ResourceId& id, const KeptPaths& kept) {
  const auto then = changes_of(saved, id);
  return id.name != kWholeFileName && !kept.empty() && !then.empty() && changes_of(now, id).empty() &&
         !contains(now.waiting, id) && std::all_of(then.begin(), then.end(), [&](const Change* change) {
           return std::all_of(change->fields.begin(), change->fields.end(),
                              [&](const FieldChange& field) { return kept.contains(field.path); });
         });
}

std::optional<std::string> why_changes_differ(const NodePlan& saved, const NodePlan& now, const ResourceId& id,
                                              const KeptPaths& kept) {
  const auto then = changes_of(saved, id);
  const auto found = changes_of(now, id);
  if (found.empty()) return "it already has the planned state, without this plan";
  if (then.size() < found.size()) return "the plan does not show all that would be changed";
  if (then.size() > found.size()) return "the plan shows a change that is no longer needed";
  for (std::size_t i = 0; i < then.size(); ++i) {
    auto why =
        kept.empty() ? why_shown_otherwise(*then[i], *found[i]) : why_rest_shown_otherwise(*then[i], *found[i], kept);
    if (why) return why;
  }
  const bool waited = contains(saved.waiting, id);
  if (waited && !contains(now.waiting, id) && !waited_for(kept, then))
    return "the plan shows it as waiting, but it no longer waits";
  if (!waited && contains(now.waiting, id)) return "it would have to wait, which the plan does not show";
  if (!same_foreign(saved, now, id)) return "other files set it differently than the plan shows";
  return std::nullopt;
}

Value without(Value value, const KeptPaths& kept) {
  if (Value::Map* entries = value.entries())
    std::erase_if(*entries, [&](const MapEntry& entry) { return kept.contains(entry.key); });
  return value;
}

/// The value for the manifest, which also determines how a change is displayed.
bool same_outcome(const NodePlan& saved, const NodePlan& now, const ResourceId& id, const KeptPaths& kept) {
  const auto then = saved.after_steps.find(id);
  const auto found = now.after_steps.find(id);
  if (found == now.after_steps.end()) {
    // Without its kept fields, the resource may have nothing left to do in this stage.
    const bool only_waits = !kept.empty() && contains(saved.waiting, id) && contains(now.waiting, id);
    return then == saved.after_steps.end() || only_waits;
  }
  if (then == saved.after_steps.end()) return false;
  return kept.empty() ? same_shown(then->second, found->second)
                      : same_shown(without(then->second, kept), without(found->second, kept));
}

auto same_artifact(const Step* step) {
  return [step](const Step* other) { return other->artifact == step->artifact; };
}

/// The steps may be fewer: some were for kept fields only.
std::optional<std::string> why_steps_do_more(const std::vector<const Step*>& then,
                                             const std::vector<const Step*>& found) {
  for (const Step* step : found) {
    const auto twin = std::find_if(then.begin(), then.end(), same_artifact(step));
    if (twin == then.end()) return step->artifact.name + " would have to be changed as well";
    if (auto why = why_more_than_step(**twin, *step)) return why;
  }
  return std::nullopt;
}

std::optional<std::string> why_steps_differ(const std::vector<const Step*>& then,
                                            const std::vector<const Step*>& found) {
  for (const Step* step : then) {
    const auto twin = std::find_if(found.begin(), found.end(), same_artifact(step));
    if (twin == found.end()) return step->artifact.name + " no longer has to be changed for it";
    if (!same_state(step->before, (*twin)->before)) return step->artifact.name + " was changed since the plan was made";
  }
  for (const Step* step : found) {
    if (!any_of(then, same_artifact(step))) return step->artifact.name + " would have to be changed as well";
  }
  if (then.size() != found.size()) return "it would be changed in another way than planned";
  for (std::size_t i = 0; i < then.size(); ++i) {
    if (auto why = why_another_step(*then[i], *found[i])) return why;
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
std::optional<Error> why_stale(const NodePlan& saved, const NodePlan& now, const ResourceId& id,
                               const KeptPaths& kept) {
  if (auto why = why_changes_differ(saved, now, id, kept)) return stale(std::move(*why));
  const auto then = steps_of(saved, id);
  const auto found = steps_of(now, id);
  if (auto why = kept.empty() ? why_steps_differ(then, found) : why_steps_do_more(then, found))
    return stale(std::move(*why));
  if (id.name == kWholeFileName && !kept.empty() && !shows_contents(changes_of(saved, id), then))
    return stale("the plan shows another content than it writes");
  if (!same_outcome(saved, now, id, kept)) return stale("its new value would differ from the plan");
  return std::nullopt;
}

/// True if the resource is blocked, not applicable or left alone for the same reasons in both plans.
bool same_remarks(const NodePlan& saved, const NodePlan& now, const ResourceId& id) {
  const auto of = [&](const NodePlan& plan) {
    std::vector<std::string> said;
    for (const BlockedResource& one : plan.blocked) {
      if (one.id == id) said.push_back("blocked: " + one.error.describe() + "\n" + one.error.hint);
    }
    for (const SkippedResource& one : plan.not_applicable) {
      if (one.id == id) said.push_back("not applicable: " + one.field + "\n" + one.reason);
    }
    if (contains(plan.kept_orphans, id)) said.emplace_back("left alone");
    std::sort(said.begin(), said.end());
    return said;
  };
  return of(saved) == of(now);
}

/// Resources whose remarks in the saved plan, apart from their change, are not true now.
std::vector<ResourceId> not_so_now(const NodePlan& saved, const NodePlan& now, const std::set<ResourceId>& then_ids,
                                   const std::set<ResourceId>& now_ids) {
  std::set<ResourceId> ids(saved.kept_orphans.begin(), saved.kept_orphans.end());
  for (const BlockedResource& one : saved.blocked) ids.insert(one.id);
  for (const SkippedResource& one : saved.not_applicable) ids.insert(one.id);
  for (const Change& change : saved.changes) ids.insert(change.id);
  std::vector<ResourceId> found;
  for (const ResourceId& id : ids) {
    const bool shown = then_ids.count(id) > 0;
    // Already reported as blocked, as stale, or as missing in the plan.
    if (shown != (now_ids.count(id) > 0)) continue;
    if (!same_remarks(saved, now, id) || (!shown && !same_foreign(saved, now, id))) found.push_back(id);
  }
  return found;
}

/// Withdraws approved changes whose steps belong together with an unapproved one: they cannot be carried out without
/// it.
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
        held.stale.emplace(id, stale_beside(step));
        withdrawn = true;
      }
    }
  }
}

}  // namespace

HeldPlan hold_to(const NodePlan& saved, const NodePlan& now, const KeptFields& kept) {
  HeldPlan held;
  const auto then_ids = planned(saved);
  for (const ResourceId& id : then_ids) {
    if (any_of(now.blocked, [&](const BlockedResource& blocked) { return blocked.id == id; })) continue;
    const KeptPaths& kept_here = kept_of(kept, id);
    if (is_kept_whole(saved, now, id, kept_here)) continue;
    if (auto error = why_stale(saved, now, id, kept_here)) {
      held.stale.emplace(id, std::move(*error));
    } else {
      held.approved.insert(id);
    }
  }
  const auto now_ids = planned(now);
  for (const ResourceId& id : now_ids) {
    if (then_ids.count(id) == 0) held.not_held.push_back(id);
  }
  held.not_so_now = not_so_now(saved, now, then_ids, now_ids);
  withdraw_companions(now, held);
  return held;
}

std::map<ResourceId, Error> beyond_what_was_shown(const NodePlan& saved, const NodePlan& now) {
  std::map<ResourceId, Error> beyond;
  const auto then_ids = planned(saved);
  for (const Change& change : now.changes) {
    if (change.origin == Origin::kForeign || then_ids.count(change.id) == 0) continue;
    const auto shown = changes_of(saved, change.id);
    std::optional<std::string> why = "the plan does not show it";
    for (const Change* one : shown) {
      if (why) why = why_beyond(*one, change);
    }
    if (why) beyond.emplace(change.id, stale(std::move(*why)));
  }
  return beyond;
}

}  // namespace sparkplan
