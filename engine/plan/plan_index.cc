#include "engine/plan/plan_index.h"

#include <algorithm>

namespace sparkplan {
namespace {

constexpr auto kIdOfEntry = [](const auto& entry) -> const ResourceId& { return *entry.first; };

template <class Entries>
void sort_by_id(Entries& entries) {
  std::ranges::stable_sort(entries, {}, kIdOfEntry);
}

template <class Entries>
bool has_entry(const Entries& entries, const ResourceId& id) {
  return std::ranges::binary_search(entries, id, {}, kIdOfEntry);
}

template <class Entry>
std::vector<const Entry*> entries_for(const std::vector<std::pair<const ResourceId*, const Entry*>>& entries,
                                      const ResourceId& id) {
  std::vector<const Entry*> found;
  for (auto at = std::ranges::lower_bound(entries, id, {}, kIdOfEntry); at != entries.end() && *at->first == id; ++at)
    found.push_back(at->second);
  return found;
}

std::vector<const Step*> steps_by_artifact(const NodePlan& plan) {
  std::vector<const Step*> steps;
  steps.reserve(plan.steps.size());
  for (const Step& step : plan.steps) steps.push_back(&step);
  std::ranges::stable_sort(steps, {}, [](const Step* step) -> const ArtifactId& { return step->artifact; });
  return steps;
}

}  // namespace

PlanIndex::PlanIndex(const NodePlan& plan) {
  for (const Change& change : plan.changes)
    (change.origin == Origin::kForeign ? foreign_changes_ : changes_).emplace_back(&change.id, &change);
  for (const Step* step : steps_by_artifact(plan)) {
    for (const ResourceId& id : step->resources) steps_.emplace_back(&id, step);
  }
  for (const BlockedResource& one : plan.blocked) blocked_.emplace_back(&one.id, &one);
  for (const SkippedResource& one : plan.not_applicable) not_applicable_.emplace_back(&one.id, &one);
  for (const ResourceId& id : plan.kept_orphans) kept_orphans_.emplace_back(&id, &id);
  for (const ResourceId& id : plan.waiting) waiting_.emplace_back(&id, &id);
  sort_by_id(changes_);
  sort_by_id(foreign_changes_);
  sort_by_id(steps_);
  sort_by_id(blocked_);
  sort_by_id(not_applicable_);
  sort_by_id(kept_orphans_);
  sort_by_id(waiting_);
  // A step may name a resource twice.
  const auto same = [](const auto& a, const auto& b) { return a.second == b.second && *a.first == *b.first; };
  steps_.erase(std::unique(steps_.begin(), steps_.end(), same), steps_.end());
}

std::vector<const Change*> PlanIndex::changes_of(const ResourceId& id) const { return entries_for(changes_, id); }

std::vector<const Change*> PlanIndex::foreign_changes_of(const ResourceId& id) const {
  return entries_for(foreign_changes_, id);
}

std::vector<const Step*> PlanIndex::steps_of(const ResourceId& id) const { return entries_for(steps_, id); }

bool PlanIndex::waits(const ResourceId& id) const { return has_entry(waiting_, id); }

bool PlanIndex::is_blocked(const ResourceId& id) const { return has_entry(blocked_, id); }

std::vector<std::string> PlanIndex::remarks_on(const ResourceId& id) const {
  std::vector<std::string> said;
  for (const BlockedResource* one : entries_for(blocked_, id))
    said.push_back("blocked: " + one->error.describe() + "\n" + one->error.hint);
  for (const SkippedResource* one : entries_for(not_applicable_, id))
    said.push_back("not applicable: " + one->field + "\n" + one->reason);
  if (has_entry(kept_orphans_, id)) said.emplace_back("left alone");
  std::ranges::sort(said);
  return said;
}

}  // namespace sparkplan
