// The changes that the release of one node implies for the others.
#include "engine/fleet/planning/release_scope.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "engine/core/tree.h"
#include "engine/fleet/planning/plan_lookup.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/plan/desired_state.h"
#include "engine/plan/fields_of_others.h"

namespace sparkplan {
namespace {

/// Two fields that wait for the same step, or stay as they are, are equal.
bool same_field(const MapEntry& a, const MapEntry& b) {
  const Value::Unknown* one = a.value.unknown();
  const Value::Unknown* other = b.value.unknown();
  const bool same = one != nullptr && other != nullptr ? one->producer == other->producer : a.value == b.value;
  return same && a.key == b.key;
}

/// The file gives both the same order of fields.
bool same_fields(const Value& a, const Value& b) {
  if (a.is_map() && b.is_map()) return std::ranges::equal(entries_of(a), entries_of(b), same_field) || a == b;
  return a == b;
}

bool same(const Resource& a, const Resource& b) {
  return a.id == b.id && same_fields(a.desired, b.desired) && a.after == b.after;
}

/// The resources, and all that they need: a change whose need is left out is blocked.
std::set<ResourceId> with_needed(std::set<ResourceId> ids, const std::vector<Resource>& resources) {
  std::vector<ResourceId> open(ids.begin(), ids.end());
  while (!open.empty()) {
    const Resource* resource = find_resource(resources, open.back());
    open.pop_back();
    if (resource == nullptr) continue;
    for (const ResourceId& needed : resource->after) {
      if (ids.insert(needed).second) open.push_back(needed);
    }
  }
  return ids;
}

/// A node that was not asked, because it is no member, leaves nothing out.
bool is_unread(const FleetNode& node, const std::set<std::string>& exported_everywhere) {
  return node.error || (node.client && !is_read_whole(node.known, exported_everywhere));
}

}  // namespace

bool is_read_whole(const FactsReply& known, const std::set<std::string>& exported_everywhere) {
  return known.export_errors.empty() && std::ranges::all_of(exported_everywhere, [&](const std::string& type) {
           return known.exports.contains(type);
         });
}

std::set<ResourceId> differing(const Desired& before, const Desired& after) {
  std::set<ResourceId> ids;
  const auto add_unlike = [&](const std::vector<Resource>& some, const std::vector<Resource>& others) {
    for (const Resource& resource : some) {
      const Resource* other = find_resource(others, resource.id);
      if (other == nullptr || !same(resource, *other)) ids.insert(resource.id);
    }
  };
  add_unlike(before.resources, after.resources);
  add_unlike(after.resources, before.resources);
  return ids;
}

std::set<ResourceId> due_to_release(const DesiredState& with, const Desired& without) {
  std::set<ResourceId> ids = differing(with, without);
  std::erase_if(ids, [&](const ResourceId& id) {
    const bool unresolved = with.incomplete_types.contains(id.type) || with.unresolved.contains(id);
    return unresolved && find_resource(with.resources, id) == nullptr;
  });
  return ids;
}

std::set<ResourceId> with_field_of(std::string_view node, const Manifest& manifest) {
  std::set<ResourceId> ids;
  for (const auto& [id, managed] : manifest.resources) {
    const auto& fields = entries_of(managed.last_applied);
    const bool has_field = std::any_of(fields.begin(), fields.end(),
                                       [&](const MapEntry& field) { return node_of_field(field.key) == node; });
    if (has_field) ids.insert(id);
  }
  return ids;
}

void PlanRun::find_implied(PlannedNode& planned, const Desired& without) const {
  planned.implied.reset();
  if (with_released_ == nullptr) return;
  const auto& manifest = planned.node.known.manifest;
  std::set<ResourceId> ids;
  for (const FleetNode& node : session_.nodes()) {
    if (!node.leaving || with_released_->find(node.spec->name) == nullptr) continue;
    if (manifest) ids.merge(with_field_of(node.name(), *manifest));
  }
  const NodeSpec* spec = with_released_->find(planned.node.spec->name);
  if (spec == nullptr) return;
  const ClusterView view{*with_released_, *spec, exports_, allow_management_change_, session_.options().secrets.get()};
  const DesiredState with = desired_state(view, planned.node.known.facts, session_.registry());
  ids.merge(due_to_release(with, without));
  planned.implied = with_needed(std::move(ids), without.resources);
}

/// The exports of such a node, such as its login keys, are then missing in the comparison.
void PlanRun::remark_unread_release() {
  if (with_released_ == nullptr) return;
  for (const FleetNode& node : session_.nodes()) {
    if (!node.leaving || with_released_->find(node.spec->name) == nullptr) continue;
    if (!is_unread(node, session_.exported_everywhere())) continue;
    session_.remark(node, Severity::kWarning, "release.unread",
                    node.name() + (node.error ? " could not be read" : " could not be read as a whole") +
                        ": what its release changes on the other nodes follows from the file and their manifests",
                    "compare the other nodes with the file afterwards: `sparkplan plan`");
  }
}

void PlanRun::remark_left_out() {
  for (const PlannedNode& planned : nodes_) {
    if (!planned.node.active() || !planned.implied) continue;
    const auto whole = plan_of(planned, std::nullopt).changes;
    const auto planned_changes = changes_by_id(planned.plan);
    const auto left_out = std::count_if(whole.begin(), whole.end(), [&](const Change& change) {
      return change.origin != Origin::kForeign && !planned_changes.contains(change.id);
    });
    if (left_out == 0) continue;
    session_.remark(planned.node, Severity::kNote, "release.left-out",
                    planned.node.name() + ": " + std::to_string(left_out) +
                        (left_out == 1 ? " other change is" : " other changes are") +
                        " pending; release does not make " + (left_out == 1 ? "it" : "them"),
                    "to make all pending changes, run `sparkplan apply`");
  }
}

}  // namespace sparkplan
