#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/model/plan.h"

// Internal to engine/plan.

namespace sparkplan {

/// What a plan has for each resource. A node may have tens of thousands of resources, so that nobody looks through the
/// whole plan for each. The plan must outlive the index, unchanged.
class PlanIndex {
 public:
  explicit PlanIndex(const NodePlan& plan);

  /// The change that is carried out for the resource; for TYPE/@file one for each file. In the order of the plan.
  std::vector<const Change*> changes_of(const ResourceId& id) const;
  /// The displayed foreign claims on the resource, in the order of the plan.
  std::vector<const Change*> foreign_changes_of(const ResourceId& id) const;
  /// Each step for the resource once, sorted by artifact; those of one artifact in the order of the plan.
  std::vector<const Step*> steps_of(const ResourceId& id) const;
  bool waits(const ResourceId& id) const;
  bool is_blocked(const ResourceId& id) const;
  /// Why the resource is blocked, not applicable or left alone: one text for each reason, sorted.
  std::vector<std::string> remarks_on(const ResourceId& id) const;

 private:
  /// Sorted by id. Those with the same id are in the order in which the methods above list them.
  template <class Entry>
  using ById = std::vector<std::pair<const ResourceId*, const Entry*>>;

  ById<Change> changes_;
  ById<Change> foreign_changes_;
  ById<Step> steps_;
  ById<BlockedResource> blocked_;
  ById<SkippedResource> not_applicable_;
  ById<ResourceId> kept_orphans_;
  ById<ResourceId> waiting_;
};

}  // namespace sparkplan
