#pragma once

#include <algorithm>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/resource.h"

namespace sparkplan {

inline bool contains(const std::vector<ResourceId>& ids, const ResourceId& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// The change that the plan would carry out for the resource; null without one.
inline const Change* find_change(const NodePlan& plan, const ResourceId& id) {
  const auto found = std::ranges::find_if(
      plan.changes, [&](const Change& change) { return change.id == id && change.origin != Origin::kForeign; });
  return found == plan.changes.end() ? nullptr : &*found;
}

inline const Resource* find_resource(const std::vector<Resource>& resources, const ResourceId& id) {
  const auto found = std::ranges::find_if(resources, [&](const Resource& resource) { return resource.id == id; });
  return found == resources.end() ? nullptr : &*found;
}

}  // namespace sparkplan
