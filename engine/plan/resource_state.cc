#include "engine/plan/resource_state.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/core/keyed_digest.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

/// The value below a path such as "addresses.0". Keys may contain dots themselves ("enp1s0.100.mtu"), so every way to
/// split the path is tried. `known_top` is set if its first key exists. Reads each entry once, however many dots a node
/// puts into a path.
const Value* value_at(const Value& value, std::string_view path, bool& known_top) {
  if (const Value::List* items = value.list_items()) {
    const std::string_view head = path.substr(0, path.find('.'));
    std::size_t index = 0;
    const auto [end, status] = std::from_chars(head.data(), head.data() + head.size(), index);
    if (status != std::errc{} || end != head.data() + head.size() || index >= items->size()) return nullptr;
    if (head.size() == path.size()) return &(*items)[index];
    return value_at((*items)[index], path.substr(head.size() + 1), known_top);
  }
  std::vector<const MapEntry*> above;
  for (const MapEntry& entry : entries_of(&value)) {
    const std::size_t size = entry.key.size();
    if (size > path.size() || (size < path.size() && path[size] != '.') || !path.starts_with(entry.key)) continue;
    known_top = true;
    if (size == path.size()) return &entry.value;
    above.push_back(&entry);
  }
  std::ranges::sort(above, {}, [](const MapEntry* entry) { return entry->key.size(); });
  for (const MapEntry* entry : above) {
    if (const Value* found = value_at(entry->value, path.substr(entry->key.size() + 1), known_top)) return found;
  }
  return nullptr;
}

/// True if the field was changed outside sparkplan. A field that was never applied cannot have drifted.
bool field_drifted(const FieldChange& field, const Value& last_applied) {
  if (!last_applied.is_map()) return !(field.before == last_applied);
  bool known_top = false;
  const Value* last = value_at(last_applied, field.path, known_top);
  if (last != nullptr) return !(field.before == *last);
  return known_top && !field.before.is_null();
}

Origin origin_of(const std::vector<FieldChange>& fields, const Value* last_applied) {
  if (last_applied == nullptr) return Origin::kConfig;
  const bool drifted = std::any_of(fields.begin(), fields.end(),
                                   [&](const FieldChange& field) { return field_drifted(field, *last_applied); });
  return drifted ? Origin::kDrift : Origin::kConfig;
}

/// The fields of `value`: its differences from an absent resource, split as the type splits them. Never empty: a
/// resource without fields either exists or does not.
std::vector<FieldChange> fields_of(const Resource& resource, const ResourceType& type,
                                   std::map<std::string, std::string> not_applicable) {
  std::vector<FieldChange> fields;
  if (resource.desired.is_map()) {
    fields = type.diff(resource, Present{Value::map(), std::move(not_applicable)});
    std::erase_if(fields, [](const FieldChange& field) { return field.after.is_null(); });
  } else if (!resource.desired.is_null()) {
    fields.push_back({"", Value(), resource.desired});
  }
  for (FieldChange& field : fields) field.before = Value();
  if (fields.empty()) fields.push_back({"present", Value(), true});
  return fields;
}

Change change_of(const ResourceState& state, std::vector<FieldChange> fields) {
  const Resource& resource = *state.desired;
  Change change;
  change.id = state.id;
  const bool ours_and_there = state.present != nullptr && state.last_applied != nullptr;
  change.action = ours_and_there ? Action::kUpdate : Action::kCreate;
  change.origin = origin_of(fields, state.last_applied);
  change.fields = std::move(fields);
  change.impact = resource.impact;
  change.reversible = resource.reversible;
  change.where = resource.where;
  const bool shows_secret = std::any_of(change.fields.begin(), change.fields.end(),
                                        [](const FieldChange& field) { return holds_secret(field.after); });
  if (shows_secret) change.note = resource.secret_source;
  return change;
}

void judge_desired(ResourceState& state, const ResourceType& type) {
  std::vector<FieldChange> fields;
  if (state.present != nullptr) {
    // A type's diff may settle an Unknown by the observed value: then nothing is left to wait for.
    fields = type.diff(*state.desired, *state.present);
    if (fields.empty()) {
      state.verdict = ResourceVerdict::kInSync;
      return;
    }
  } else {
    fields = fields_of(*state.desired, type, {});
  }
  // An Unknown that the type's diff leaves out needs no waiting.
  const bool unknown = std::any_of(fields.begin(), fields.end(),
                                   [](const FieldChange& field) { return field.after.contains_unknown(); });
  const bool some_known = std::any_of(fields.begin(), fields.end(),
                                      [](const FieldChange& field) { return !field.after.contains_unknown(); });
  state.more_to_come = unknown && some_known && state.desired->known_part_first;
  state.verdict = unknown && !state.more_to_come ? ResourceVerdict::kWaiting : ResourceVerdict::kChange;
  state.change = change_of(state, std::move(fields));
}

/// Finds interrupted removals. An artifact of one has no recorded outcome, and each of them is as sparkplan wrote it,
/// or as it was before sparkplan managed it. Each artifact is compared once, because a manifest may name one for
/// thousands of resources, and a digest takes long.
class InterruptedRemovals {
 public:
  explicit InterruptedRemovals(const NodePlanInput& input) : input_(input) {}

  bool contain(const ResourceId& id) {
    const std::vector<ArtifactId>& lived_in = input_.manifest->resources.at(id).artifacts;
    if (!lived_in.empty()) return is_interrupted(lived_in, id.type);
    // The run that created it was also interrupted, before it recorded the artifacts.
    const auto [known, is_new] = of_type_.try_emplace(id.type, false);
    if (is_new) known->second = is_interrupted(artifacts_of(id.type), id.type);
    return known->second;
  }

 private:
  struct Compared {
    bool ours = false;
    bool untold = false;  ///< Without a recorded outcome.
  };

  std::vector<ArtifactId> artifacts_of(const std::string& type) const {
    std::vector<ArtifactId> ids;
    for (const auto& [id, artifact] : input_.manifest->artifacts)
      if (artifact.type == type) ids.push_back(id);
    return ids;
  }

  bool is_interrupted(const std::vector<ArtifactId>& lived_in, const std::string& type) {
    bool broke_off = false;
    const bool ours = std::all_of(lived_in.begin(), lived_in.end(), [&](const ArtifactId& id) {
      const Compared& found = compared(id, type);
      broke_off = broke_off || found.untold;
      return found.ours;
    });
    return ours && broke_off;
  }

  const Compared& compared(const ArtifactId& id, const std::string& type) {
    const auto [known, is_new] = compared_.try_emplace({type, id});
    if (is_new) known->second = compare(id, type);
    return known->second;
  }

  Compared compare(const ArtifactId& id, const std::string& type) const {
    const auto known = input_.manifest->artifacts.find(id);
    if (known == input_.manifest->artifacts.end()) return {true, false};  // Already released.
    const bool untold = !known->second.intended_digest.empty();
    const auto& observed = input_.observed->types.at(type).artifacts;
    const auto found = observed.find(id);
    const Observation now = found == observed.end() ? Observation(Absent{}) : found->second;
    if (std::holds_alternative<Error>(now)) return {false, untold};
    // A file is written completely or not at all; a link may be in any intermediate state.
    const bool ours = (untold && !is_text_artifact(id)) || known->second.wrote(digest(now)) ||
                      same_state(now, known->second.original);
    return {ours, untold};
  }

  const NodePlanInput& input_;
  std::map<std::pair<std::string, ArtifactId>, Compared> compared_;  ///< By the type that observes it.
  std::map<std::string, bool> of_type_;
};

/// No longer in the file: it is removed only if it is unchanged since sparkplan wrote it.
void judge_orphan(ResourceState& state, InterruptedRemovals& interrupted, const ResourceType& type) {
  if (state.present == nullptr) {
    state.verdict = ResourceVerdict::kGone;
    return;
  }
  const Resource as_applied{state.id, *state.last_applied, {}, {}, Impact::kLive, Reversible::kExact};
  if (!type.diff(as_applied, *state.present).empty() && !interrupted.contain(state.id)) {
    state.verdict = ResourceVerdict::kKeptOrphan;
    return;
  }
  state.verdict = ResourceVerdict::kRemove;
  Change change;
  change.id = state.id;
  change.action = Action::kRemove;
  change.impact = type.info().impact_of_removal;
  change.reversible = type.info().reversible_of_removal;
  change.fields = fields_of(as_applied, type, state.present->not_applicable);
  for (FieldChange& field : change.fields) std::swap(field.before, field.after);
  state.change = std::move(change);
}

const Observation* observation_of(const ObservedState* observed, const ResourceId& id) {
  if (observed == nullptr) return nullptr;
  const auto type = observed->types.find(id.type);
  if (type == observed->types.end()) return nullptr;
  const auto found = type->second.resources.find(id.name);
  return found == type->second.resources.end() ? nullptr : &found->second;
}

void judge(ResourceState& state, const NodePlanInput& input, InterruptedRemovals& interrupted,
           const Registry& registry) {
  const Observation* observation = observation_of(input.observed, state.id);
  state.could_not_look = observation == nullptr || std::holds_alternative<Error>(*observation);
  state.present = observation == nullptr ? nullptr : std::get_if<Present>(observation);
  const ResourceType* type = registry.find(state.id.type);
  if (const auto failed = input.failed.find(state.id); failed != input.failed.end()) {
    state.block(failed->second);
  } else if (type == nullptr) {
    state.block(make_error(ErrorCode::kUnsupported, "this build has no resource type " + state.id.type,
                           "it was applied by another version of sparkplan"));
  } else if (observation == nullptr) {
    // To assume Absent would be a guess, and would cause a write on the node.
    state.block(make_error(ErrorCode::kFailed, "the node did not report it"));
  } else if (const Error* error = std::get_if<Error>(observation)) {
    state.block(*error);
  } else if (const NotApplicable* reason = std::get_if<NotApplicable>(observation)) {
    state.verdict = ResourceVerdict::kNotApplicable;
    state.reason = reason->reason;
  } else if (state.desired != nullptr) {
    judge_desired(state, *type);
  } else if (is_left_open(state.id, input)) {
    state.block(make_error(ErrorCode::kInvalidInput, "left unchanged: its desired state is not known"));
  } else {
    judge_orphan(state, interrupted, *type);
  }
}

}  // namespace

void ResourceState::block(Error why) {
  verdict = ResourceVerdict::kBlocked;
  more_to_come = false;
  error = std::move(why);
  change.reset();
}

bool is_left_open(const ResourceId& id, const NodePlanInput& input) {
  return input.incomplete_types.contains(id.type) || input.unresolved.contains(id);
}

ResourceStates judge_resources(const NodePlanInput& input, const Registry& registry) {
  ResourceStates states;
  for (const Resource& resource : input.desired) states[resource.id].desired = &resource;
  if (input.manifest != nullptr)
    for (const auto& [id, managed] : input.manifest->resources) states[id].last_applied = &managed.last_applied;
  InterruptedRemovals interrupted(input);
  for (auto& [id, state] : states) {
    state.id = id;
    state.selected = !input.selected || input.selected(id);
    judge(state, input, interrupted, registry);
  }
  return states;
}

Value settled_value(const ResourceState& state) {
  const Value& value = state.desired->desired;
  if (!value.is_map()) return value;
  static const Present kNothingSeen{Value::map(), {}};
  const Present& present = state.present == nullptr ? kNothingSeen : *state.present;
  // One pass: the unknown values may be the keys of all nodes of a large cluster.
  Value settled = Value::map();
  settled.where = value.where;
  for (const MapEntry& entry : *value.entries()) {
    // A field that this node cannot have was not applied. In the manifest, it would be reported as drift as soon as the
    // node can have it.
    if (present.not_applicable.contains(entry.key)) continue;
    if (!entry.value.contains_unknown()) {
      settled.entries()->push_back(entry);
    } else if (const Value* observed = present.value.find(entry.key)) {
      settled.entries()->push_back({entry.key, *observed, entry.key_where});
    }
  }
  return settled;
}

}  // namespace sparkplan
