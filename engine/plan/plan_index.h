#pragma once

#include <string>
#include <utility>
#include <vector>

#include "engine/model/plan.h"

// Internal to engine/plan.

namespace sparkplan {

/// Looks up the entries of a plan by their resource. A node may have tens of thousands of resources, and a search of
/// the whole plan for each would take minutes. The plan must outlive the index, unchanged.
class PlanIndex {
 public:
  explicit PlanIndex(const NodePlan& plan);

  /// The change that is carried out for the resource; for TYPE/@file one for each file. In the order of the plan.
  std::vector<const Change*> changes_of(const ResourceId& id) const;
  /// The displayed foreign claims on the resource, in the order of the plan.
  std::vector<const Change*> foreign_changes_of(const ResourceId& id) const;
  /// Each step for the resource once, sorted by artifact; steps of one artifact in the order of the plan.
  std::vector<const Step*> steps_of(const ResourceId& id) const;
  bool waits(const ResourceId& id) const;
  bool is_blocked(const ResourceId& id) const;
  /// Why the resource is blocked, not applicable or left alone: one text for each reason, sorted.
  std::vector<std::string> remarks_on(const ResourceId& id) const;

 private:
  /// Sorted by id. Entries with the same id are in the order in which the methods above list them.
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
