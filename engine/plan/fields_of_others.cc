#include "engine/plan/fields_of_others.h"

#include <algorithm>
#include <cstdint>
#include <optional>

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

/// True if a step for the resource has another state before it than in `saved`.
bool was_changed(const NodePlan& saved, const NodePlan& now, const ResourceId& id) {
  return std::any_of(now.steps.begin(), now.steps.end(), [&](const Step& step) {
    if (std::find(step.resources.begin(), step.resources.end(), id) == step.resources.end()) return false;
    const auto then = std::find_if(saved.steps.begin(), saved.steps.end(), [&](const Step& one) {
      return one.type == step.type && one.artifact == step.artifact;
    });
    return then != saved.steps.end() && !same_state(then->before, step.before);
  });
}

bool is_blocked(const NodePlan& plan, const ResourceId& id) {
  return std::any_of(plan.blocked.begin(), plan.blocked.end(),
                     [&](const BlockedResource& blocked) { return blocked.id == id; });
}

/// Why a field is not as in the saved plan.
enum class Cause : std::uint8_t { kNone, kItsNode, kUnclear };

/// Compares the desired values of one resource's fields. Their state on this node is this node's own matter.
class DesiredThenAndNow {
 public:
  DesiredThenAndNow(const NodePlan& saved, const NodePlan& now, const Resource& resource)
      : shown_(fields_by_path(own_change(saved, resource.id))), change_(own_change(now, resource.id)) {
    found_ = fields_by_path(change_);
    if (const auto planned = saved.after_steps.find(resource.id); planned != saved.after_steps.end())
      planned_ = values_of(planned->second);
    if (!shown_.empty() || !found_.empty()) wanted_ = values_of(resource.desired).value_or(Values());
  }

  std::set<std::string_view> paths() const {
    std::set<std::string_view> paths;
    for (const auto& [path, field] : shown_) paths.insert(path);
    for (const auto& [path, field] : found_) paths.insert(path);
    return paths;
  }

  /// True if a value is to be written. What cluster.yaml alone removes does not follow from a report.
  bool writes(std::string_view path) const {
    const auto field = found_.find(path);
    return field != found_.end() && !field->second->after.is_null();
  }

  /// A node's own report changes a value. Whether there is one at all also follows from the reports of others.
  Cause cause(std::string_view path) const {
    const Value* wanted = value_in(wanted_, path);
    const auto shown = shown_.find(path);
    if (shown == shown_.end() && !planned_) {
      // The plan does not have the value that was desired then.
      return change_->origin == Origin::kDrift || wanted == nullptr ? Cause::kUnclear : Cause::kItsNode;
    }
    const Value* then = shown == shown_.end() ? value_in(*planned_, path) : &shown->second->after;
    if (then != nullptr && then->is_null()) then = nullptr;
    if (then != nullptr && wanted != nullptr) return same_shown(*then, *wanted) ? Cause::kNone : Cause::kItsNode;
    if (then == wanted) return Cause::kNone;
    // A value that is not shown may also be missing because its node did not report it.
    return wanted != nullptr && shown == shown_.end() ? Cause::kItsNode : Cause::kUnclear;
  }

 private:
  using Values = std::map<std::string_view, const Value*>;

  static std::optional<Values> values_of(const Value& value) {
    const Value::Map* entries = value.entries();
    if (entries == nullptr) return std::nullopt;
    Values values;
    for (const MapEntry& entry : *entries) values.emplace(entry.key, &entry.value);
    return values;
  }

  static const Value* value_in(const Values& values, std::string_view path) {
    const auto found = values.find(path);
    return found == values.end() ? nullptr : found->second;
  }

  std::map<std::string_view, const FieldChange*> shown_;
  std::map<std::string_view, const FieldChange*> found_;
  const Change* change_;
  std::optional<Values> planned_;
  Values wanted_;
};

/// Adds the fields of the resource with another desired value than in `saved`, and the nodes that they follow from.
void find_differing(const NodePlan& saved, const NodePlan& now, const Resource& resource, const OtherNodes& others,
                    FieldsOfOthers& result) {
  const DesiredThenAndNow values(saved, now, resource);
  for (const std::string_view path : values.paths()) {
    std::string node(node_of_field(path));
    if (!is_other(others, node)) continue;
    const bool excluded = others.excluded.contains(node);
    const Cause cause = excluded && values.writes(path) ? Cause::kItsNode : values.cause(path);
    if (cause == Cause::kNone) continue;
    result.fields[resource.id].emplace(path);
    // Why a node that takes no part reports nothing is clear.
    (cause == Cause::kItsNode || excluded ? result.nodes : result.unclear).insert(std::move(node));
  }
}

/// All fields of `result.nodes` in the resources of these types, except in those that are `left_out`.
void add_all_fields(const std::vector<Resource>& desired, const std::set<std::string>& types,
                    const std::set<ResourceId>& left_out, FieldsOfOthers& result) {
  if (result.nodes.empty()) return;
  for (const Resource& resource : desired) {
    const Value::Map* entries = resource.desired.entries();
    if (!resource.known_part_first || entries == nullptr) continue;
    if (!types.contains(resource.id.type) || left_out.contains(resource.id)) continue;
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
  // They are stale or blocked for a reason of their own, which kept fields would hide.
  std::set<ResourceId> left_out;
  for (const Resource& resource : desired) {
    if (!resource.known_part_first || !shown.contains(resource.id.type)) continue;
    const ResourceId& id = resource.id;
    if (was_changed(saved, now, id) || is_blocked(saved, id) || is_blocked(now, id)) {
      left_out.insert(id);
    } else {
      find_differing(saved, now, resource, others, result);
    }
  }
  if (result.fields.empty()) return {};
  add_all_fields(desired, shown, left_out, result);
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
      (field.after.is_null() ? result.unclear : result.nodes).insert(std::move(node));
    }
  }
  add_all_fields(desired, types, {}, result);
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
