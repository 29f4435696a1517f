#include "engine/plan/fields_of_others.h"

#include <algorithm>

#include "engine/plan/change_comparison.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

/// Null without a change that is carried out.
const Change* own_change(const NodePlan& plan, const ResourceId& id) {
  const auto found = std::find_if(plan.changes.begin(), plan.changes.end(), [&](const Change& change) {
    return change.id == id && change.origin != Origin::kForeign;
  });
  return found == plan.changes.end() ? nullptr : &*found;
}

/// By path; empty without a change. A view of the change.
std::map<std::string_view, const FieldChange*> fields_by_path(const Change* change) {
  std::map<std::string_view, const FieldChange*> fields;
  if (change == nullptr) return fields;
  for (const FieldChange& field : change->fields) fields.emplace(field.path, &field);
  return fields;
}

bool is_other(const OtherNodes& others, const std::string& node) {
  return others.taking_part.contains(node) || others.excluded.contains(node);
}

std::set<std::string> shown_types(const NodePlan& saved) {
  std::set<std::string> types;
  for (const Change& change : saved.changes) {
    if (change.origin != Origin::kForeign) types.insert(change.id.type);
  }
  return types;
}

/// True if a step of one of the types has another state before it than in `saved`.
bool was_changed(const NodePlan& saved, const NodePlan& now, const std::set<std::string>& types) {
  std::map<ArtifactId, const Step*> steps;
  for (const Step& step : saved.steps) {
    if (types.contains(step.type)) steps.emplace(step.artifact, &step);
  }
  return std::any_of(now.steps.begin(), now.steps.end(), [&](const Step& step) {
    const auto then = steps.find(step.artifact);
    return then != steps.end() && !same_state(then->second->before, step.before);
  });
}

/// Adds the nodes of which a field of the resource differs, and these fields' paths.
void find_differing(const Change* then, const Change* now, const Resource& resource, const OtherNodes& others,
                    FieldsOfOthers& result) {
  const auto shown = fields_by_path(then);
  const auto found = fields_by_path(now);
  const auto add = [&](std::string_view path) {
    std::string node(node_of_field(path));
    if (!is_other(others, node)) return;
    result.nodes.insert(std::move(node));
    result.fields[resource.id].emplace(path);
  };
  for (const auto& [path, field] : shown) {
    const auto twin = found.find(path);
    const bool same = twin != found.end() && same_shown(field->before, twin->second->before) &&
                      same_shown(field->after, twin->second->after);
    if (!same) add(path);
  }
  for (const auto& [path, field] : found) {
    // What cluster.yaml alone removes does not follow from a report.
    const bool of_excluded = others.excluded.contains(std::string(node_of_field(path))) && !field->after.is_null();
    if (of_excluded || !shown.contains(path)) add(path);
  }
}

/// All fields of `result.nodes` in the resources of these types.
void add_all_fields(const std::vector<Resource>& desired, const std::set<std::string>& types, FieldsOfOthers& result) {
  if (result.nodes.empty()) return;
  for (const Resource& resource : desired) {
    const Value::Map* entries = resource.desired.entries();
    if (!resource.known_part_first || entries == nullptr || !types.contains(resource.id.type)) continue;
    for (const MapEntry& entry : *entries) {
      if (result.nodes.contains(std::string(node_of_field(entry.key)))) result.fields[resource.id].insert(entry.key);
    }
  }
}

}  // namespace

std::string_view node_of_field(std::string_view path) {
  const auto dot = path.find('.');
  return dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
}

FieldsOfOthers fields_reported_otherwise(const NodePlan& saved, const NodePlan& now,
                                         const std::vector<Resource>& desired, const OtherNodes& others) {
  FieldsOfOthers result;
  const std::set<std::string> shown = shown_types(saved);
  std::set<std::string> types;
  for (const Resource& resource : desired) {
    if (!resource.known_part_first || !shown.contains(resource.id.type)) continue;
    types.insert(resource.id.type);
    find_differing(own_change(saved, resource.id), own_change(now, resource.id), resource, others, result);
  }
  if (result.nodes.empty() || was_changed(saved, now, types)) return {};
  add_all_fields(desired, types, result);
  return result;
}

FieldsOfOthers fields_beyond(const NodePlan& saved, const NodePlan& now, const std::vector<Resource>& desired,
                             const OtherNodes& others) {
  FieldsOfOthers result;
  std::set<std::string> types;
  for (const Resource& resource : desired) {
    const Change* then = own_change(saved, resource.id);
    const Change* found = own_change(now, resource.id);
    if (!resource.known_part_first || then == nullptr || found == nullptr) continue;
    types.insert(resource.id.type);
    Change one = *found;
    for (const FieldChange& field : found->fields) {
      std::string node(node_of_field(field.path));
      if (!is_other(others, node)) continue;
      one.fields = {field};
      if (!why_beyond(*then, one)) continue;
      result.fields[resource.id].insert(field.path);
      result.nodes.insert(std::move(node));
    }
  }
  add_all_fields(desired, types, result);
  return result;
}

void keep_fields(std::vector<Resource>& desired, const KeptFields& kept) {
  if (kept.empty()) return;
  for (Resource& resource : desired) {
    const auto found = kept.find(resource.id);
    Value::Map* entries = resource.desired.entries();
    if (found == kept.end() || entries == nullptr) continue;
    const auto stays = [](std::string_view path) {
      return Value::Unknown{std::string(node_of_field(path)) + " reports other data than when the plan was made", {}};
    };
    std::set<std::string> missing = found->second;
    for (MapEntry& entry : *entries) {
      if (missing.erase(entry.key) > 0) entry.value = stays(entry.key);
    }
    for (const std::string& path : missing) entries->push_back({path, stays(path)});
  }
}

}  // namespace sparkplan
