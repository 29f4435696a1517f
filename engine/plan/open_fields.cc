#include "engine/plan/open_fields.h"

#include <algorithm>

#include "engine/plan/fields_of_others.h"

namespace sparkplan {

std::map<std::string, std::string> edited_open_fields(const Resource& resource, const Value& observed,
                                                      const Value& last_applied) {
  std::map<std::string, std::string> edited;
  const Value::Map* entries = resource.desired.entries();
  if (!resource.known_part_first || entries == nullptr || !last_applied.is_map()) return edited;
  const bool any_known =
      std::any_of(entries->begin(), entries->end(), [](const MapEntry& entry) { return !entry.value.is_unknown(); });
  if (!any_known) return edited;
  for (const MapEntry& entry : *entries) {
    const Value::Unknown* unknown = entry.value.unknown();
    if (unknown == nullptr || !unknown->producer.empty() || node_of_field(entry.key).empty()) continue;
    const Value* now = observed.find(entry.key);
    const Value* then = last_applied.find(entry.key);
    const bool same = now == nullptr || then == nullptr ? now == then : *now == *then;
    if (!same) edited.emplace(entry.key, unknown->reason);
  }
  return edited;
}

}  // namespace sparkplan
