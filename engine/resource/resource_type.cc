#include "engine/resource/resource_type.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "engine/core/tree.h"

namespace sparkplan {
namespace {

/// Below a longer path, a map is one value: each of its fields would repeat the path, and a node words manifests.
constexpr std::size_t kLongestSplitPath = 256;

/// Compares the fields of the desired side only: other fields are not managed. A list is one value, because a report of
/// single moved items does not help a reader.
void compare(const std::string& path, const Value& desired, const Value* present, const Present& observed,
             std::vector<FieldChange>& changes) {
  if (observed.not_applicable.contains(path)) return;
  const Value::Map* fields = desired.entries();
  const bool descend = fields != nullptr && path.size() <= kLongestSplitPath &&
                       (present == nullptr || present->is_null() || present->is_map());
  if (!descend || (fields->empty() && !path.empty())) {
    if (present != nullptr && desired == *present) return;
    changes.push_back({path, present == nullptr ? Value() : *present, desired});
    return;
  }
  // A manifest may have thousands of fields in one value: then a search for each takes too long.
  constexpr std::size_t kFew = 32;
  const bool many = fields->size() > kFew;
  std::unordered_map<std::string_view, const Value*> index;
  if (many) {
    for (const MapEntry& entry : entries_of(present)) index.emplace(entry.key, &entry.value);
  }
  const auto value_of = [&](const std::string& key) -> const Value* {
    if (!many) return present == nullptr ? nullptr : present->find(key);
    const auto found = index.find(key);
    return found == index.end() ? nullptr : found->second;
  };
  for (const MapEntry& field : *fields) {
    const Value* there = value_of(field.key);
    compare(path.empty() ? field.key : path + "." + field.key, field.value, there, observed, changes);
  }
}

}  // namespace

const Resource* StepsInput::target_of(const ResourceId& id) const {
  const auto found = std::ranges::find(target, id, &Resource::id);
  return found == target.end() ? nullptr : &found->get();
}

const Observation* StepsInput::seen(const ArtifactId& artifact) const {
  const auto found = observed.artifacts.find(artifact);
  return found == observed.artifacts.end() ? nullptr : &found->second;
}

const Present* StepsInput::seen(const std::string& resource) const {
  const auto found = observed.resources.find(resource);
  return found == observed.resources.end() ? nullptr : std::get_if<Present>(&found->second);
}

const Observation* StepsInput::original(const ArtifactId& artifact) const {
  const auto found = originals.find(artifact);
  return found == originals.end() ? nullptr : &found->second;
}

const Value* ClusterView::export_of(const NodeName& node, std::string_view type) const {
  const auto of_node = exports.find(node.str());
  if (of_node == exports.end()) return nullptr;
  const auto of_type = of_node->second.find(std::string(type));
  return of_type == of_node->second.end() ? nullptr : &of_type->second;
}

Value ClusterView::export_or_unknown(const NodeName& node, std::string_view type, std::string_view key) const {
  const Value* exported = export_of(node, type);
  const Value* value = exported == nullptr ? nullptr : exported->find(key);
  if (value != nullptr && !value->is_null()) return *value;
  const std::string what(key);
  return Value::Unknown{"known after " + node.str() + " has made its " + what,
                        node.str() + "/" + std::string(type) + "/" + what};
}

std::vector<FieldChange> ResourceType::diff(const Resource& resource, const Present& present) const {
  std::vector<FieldChange> changes;
  compare("", resource.desired, &present.value, present, changes);
  std::ranges::sort(changes, {}, &FieldChange::path);
  return changes;
}

Observation ResourceType::read_artifact(const ArtifactId& artifact, const NodeReader& /*node*/) const {
  return make_error(ErrorCode::kBug, "type " + info().name + " has no artifacts of kind " + artifact.kind);
}

ChangesAhead changes_ahead(std::span<const Step> steps) {
  ChangesAhead ahead;
  for (const Step& step : steps) {
    if (!std::holds_alternative<Present>(step.after)) continue;
    for (const ResourceId& resource : step.resources) ahead[resource.type].try_emplace(resource.name);
  }
  return ahead;
}

Resource ResourceType::make_resource(std::string name, Value desired, SourceRange where) const {
  Resource made;
  made.id = {info_.name, std::move(name)};
  made.desired = std::move(desired);
  made.where = where;
  made.impact = info_.impact_of_removal;
  made.reversible = info_.reversible_of_removal;
  return made;
}

Result<void> ResourceType::apply(const ArtifactId& artifact, const Observation& /*after*/, Node& /*node*/) const {
  return failure(ErrorCode::kBug, "type " + info().name + " has no artifacts of kind " + artifact.kind);
}

}  // namespace sparkplan
