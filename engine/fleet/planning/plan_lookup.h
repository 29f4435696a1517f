#pragma once

#include <algorithm>
#include <map>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/resource.h"

namespace sparkplan {

inline bool contains(const std::vector<ResourceId>& ids, const ResourceId& id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// The changes that the plan would carry out, by their resources. Valid as long as the plan.
inline std::map<ResourceId, const Change*> changes_by_id(const NodePlan& plan) {
  std::map<ResourceId, const Change*> changes;
  for (const Change& change : plan.changes) {
    if (change.origin != Origin::kForeign) changes.emplace(change.id, &change);
  }
  return changes;
}

/// Null without one.
inline const Resource* find_resource(const std::vector<Resource>& resources, const ResourceId& id) {
  const auto found = std::ranges::find_if(resources, [&](const Resource& resource) { return resource.id == id; });
  return found == resources.end() ? nullptr : &*found;
}

}  // namespace sparkplan
