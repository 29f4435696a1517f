#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "engine/plan/repeated_error.h"
#include "engine/plan/resource_state.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"

namespace sparkplan {
namespace {

/// In the order of their ids.
std::vector<ResourceState*> states_of(const std::string& type, ResourceStates& states) {
  std::vector<ResourceState*> found;
  for (auto at = states.lower_bound(ResourceId{type, ""}); at != states.end() && at->first.type == type; ++at)
    found.push_back(&at->second);
  return found;
}

/// The input for a type's steps(). Values that the file declares unchanged are not copied: they may contain the keys of
/// all nodes.
struct Question {
  explicit Question(const ObservedType& observed) : input{{}, observed, {}, {}} {}
  Question(const Question&) = delete;  // The input refers to `made`.
  Question(Question&&) = default;
  Question& operator=(const Question&) = delete;
  Question& operator=(Question&&) = delete;
  ~Question() = default;

  /// Adds the value of the resource after this stage.
  void add_target(const ResourceState& state, Value value) {
    if (state.desired == nullptr) {
      made.push_back({state.id, std::move(value), {}, {}, Impact::kLive, Reversible::kExact});
    } else {
      const Resource& desired = *state.desired;
      made.push_back({state.id, std::move(value), desired.where, desired.after, desired.impact, desired.reversible,
                      desired.known_part_first});
    }
    input.target.emplace_back(made.back());
  }

  std::deque<Resource> made;  ///< A deque, so that references stay valid while it grows.
  StepsInput input;
};

/// Adds the value of the resource after this stage, unless it will be absent.
void add_target(const ResourceState& state, Question& question) {
  const bool as_desired = state.verdict == ResourceVerdict::kChange || state.verdict == ResourceVerdict::kInSync;
  if (state.selected && state.desired != nullptr && as_desired) {
    if (state.desired->desired.contains_unknown()) {
      question.add_target(state, settled_value(state));
    } else {
      question.input.target.emplace_back(*state.desired);
    }
  } else if (state.carried_out()) {
    return;  // A removal.
  } else if (state.present != nullptr) {
    question.add_target(state, state.present->value);
  } else if (state.could_not_look && state.last_applied != nullptr) {
    // Unreadable. It must not vanish from a file that it shares with others.
    question.add_target(state, *state.last_applied);
  }
}

Question question_about(const std::string& type, const std::vector<ResourceState*>& states,
                        const ObservedType& observed, const Manifest* manifest) {
  Question question(observed);
  for (const ResourceState* state : states) {
    add_target(*state, question);
    if (state->carried_out()) question.input.changes.emplace_back(*state->change);
  }
  if (manifest != nullptr)
    for (const auto& [id, artifact] : manifest->artifacts)
      if (artifact.type == type) question.input.originals.emplace(id, artifact.original);
  return question;
}

/// Types make no step for an unreadable artifact. To find the changes that need it, the type is called as if it were
/// absent. Then the step's `before` is set to the error again.
std::vector<Step> steps_with_errors(const ResourceType& type, const std::vector<ResourceState*>& states,
                                    const ObservedType& observed, const Manifest* manifest) {
  const auto unreadable = [](const auto& artifact) { return std::holds_alternative<Error>(artifact.second); };
  if (std::none_of(observed.artifacts.begin(), observed.artifacts.end(), unreadable))
    return type.steps(question_about(type.info().name, states, observed, manifest).input);

  ObservedType readable = observed;
  for (auto& [id, observation] : readable.artifacts)
    if (std::holds_alternative<Error>(observation)) observation = Absent{};
  std::vector<Step> steps = type.steps(question_about(type.info().name, states, readable, manifest).input);
  for (Step& step : steps) {
    const auto found = observed.artifacts.find(step.artifact);
    if (found != observed.artifacts.end() && unreadable(*found)) step.before = found->second;
  }
  return steps;
}

/// Why the step is not carried out. An unreadable artifact cannot be compared before it is written, content too large
/// to be read again is not written, and only "absent" and a value can be restored: a node's manifest may say something
/// else.
std::optional<Error> impossible(const Step& step) {
  if (const Error* unread = std::get_if<Error>(&step.before)) return *unread;
  if (!std::holds_alternative<Absent>(step.after) && !std::holds_alternative<Present>(step.after)) {
    return make_error(ErrorCode::kFailed, "the node's manifest has no state of " + step.artifact.str() +
                                              " before sparkplan that could be restored");
  }
  return too_large_to_read(step.artifact, step.after);
}

/// Resources that need an impossible step are blocked. True if that removed a change from the plan, so that steps have
/// to be requested again. `count` is the number of the node's resources: each may get such an error.
bool block_impossible(const Step& step, const std::vector<ResourceState*>& states, std::size_t count) {
  std::optional<Error> error = impossible(step);
  if (!error) return false;
  error = repeated_error(*error, count);
  bool blocked = false;
  // A step can have all of a node's resources: to look for each state in its list would take the square of their
  // number.
  for (const ResourceId& id : step.resources) {
    const auto at = std::ranges::lower_bound(states, id, {}, &ResourceState::id);
    if (at == states.end() || (*at)->id != id || !(*at)->carried_out()) continue;
    (*at)->block(*error);
    blocked = true;
  }
  return blocked;
}

std::vector<Step> readable_steps(const ResourceType& type, const std::vector<ResourceState*>& states,
                                 const ObservedType& observed, const Manifest* manifest, std::size_t count) {
  while (true) {
    std::vector<Step> steps = steps_with_errors(type, states, observed, manifest);
    bool again = false;
    for (const Step& step : steps) again = block_impossible(step, states, count) || again;
    if (!again) return steps;
  }
}

bool written_by_others(const Step& step, const Manifest* manifest) {
  if (manifest == nullptr) return false;
  const auto known = manifest->artifacts.find(step.artifact);
  if (known == manifest->artifacts.end() || known->second.written_digest.empty()) return false;
  return !known->second.wrote(digest(step.before));
}

Value field_of(const Observation& observation, const std::string& field) {
  const Present* present = std::get_if<Present>(&observation);
  const Value* value = present == nullptr ? nullptr : present->value.find(field);
  return value == nullptr ? Value() : *value;
}

/// The file as a whole. Attributes are listed only if the file stays and has wrong ones.
std::vector<FieldChange> file_fields(const Step& step) {
  std::vector<FieldChange> fields;
  const bool stays = std::holds_alternative<Present>(step.before) && std::holds_alternative<Present>(step.after);
  for (const char* field : {"content", "gid", "mode", "uid"}) {
    Value before = field_of(step.before, field);
    Value after = field_of(step.after, field);
    if (before == after || (!stays && std::string_view(field) != "content")) continue;
    fields.push_back({field, std::move(before), std::move(after)});
  }
  return fields;
}

Change file_change(const ResourceId& id, const Step& step, const std::vector<ResourceState*>& states, Origin origin) {
  Change change;
  change.id = id;
  if (std::holds_alternative<Absent>(step.before)) change.action = Action::kCreate;
  if (std::holds_alternative<Absent>(step.after)) change.action = Action::kRemove;
  change.origin = origin;
  change.fields = file_fields(step);
  // The file contains all these resources, so its impact is their largest impact.
  for (const ResourceState* state : states) {
    if (state->desired == nullptr) continue;
    change.impact = std::max(change.impact, state->desired->impact);
    change.reversible = std::max(change.reversible, state->desired->reversible);
  }
  return change;
}

/// Text artifacts that contain more than the observed resources: rewriting one loses manual additions.
std::set<ArtifactId> with_additions(const ResourceType& type, const std::vector<ResourceState*>& states,
                                    const ObservedType& observed, const Manifest* manifest) {
  const bool nothing_there = std::all_of(observed.artifacts.begin(), observed.artifacts.end(),
                                         [](const auto& one) { return std::holds_alternative<Absent>(one.second); });
  if (nothing_there) return {};
  Question question = question_about(type.info().name, {}, observed, manifest);
  for (const ResourceState* state : states) {
    // An unreadable resource is not an addition: the file contains its last applied value.
    const Value* in_file = state->could_not_look ? state->last_applied : nullptr;
    if (state->present != nullptr) in_file = &state->present->value;
    if (in_file != nullptr) question.add_target(*state, *in_file);
  }
  std::set<ArtifactId> found;
  for (const Step& step : type.steps(question.input))
    if (is_text_artifact(step.artifact) && !std::holds_alternative<Absent>(step.before)) found.insert(step.artifact);
  return found;
}

/// Decides which steps of one type are added to the plan, and displays the steps that no resource explains.
class StepsOfType {
 public:
  StepsOfType(const std::string& type, const std::vector<ResourceState*>& states, const NodePlanInput& input,
              std::set<ArtifactId> with_additions, NodePlan& plan)
      : file_{type, std::string(kWholeFileName)},
        states_(states),
        input_(input),
        with_additions_(std::move(with_additions)),
        plan_(plan) {
    const auto failed = input.failed.find(file_);
    if (failed != input.failed.end()) failed_ = &failed->second;
    selected_ = !input.selected || input.selected(file_);
  }

  void add(std::vector<Step> steps) {
    step_count_ = steps.size();
    const bool shown = show_whole_files(steps);
    for (Step& step : steps) {
      // A step that only accompanies a file ("reload the units") is added with it. Alone it has no change to display,
      // so it is not carried out. Another file that was skipped above accompanies nothing.
      if (step.resources.empty() && shown && !is_text_artifact(step.artifact)) step.resources.push_back(file_);
      if (!step.resources.empty() && !impossible(step)) plan_.steps.push_back(std::move(step));
    }
  }

 private:
  bool show_whole_files(std::vector<Step>& steps) {
    bool shown = false;
    for (Step& step : steps) {
      if (!is_text_artifact(step.artifact)) continue;
      const bool unexplained = step.resources.empty();
      const bool edited = written_by_others(step, input_.manifest);
      // No resource needs this artifact any more, and it is not as sparkplan wrote it: it is a foreign file now.
      if (unexplained && states_.empty() && edited) continue;
      // Content that a rewrite would remove is displayed, even if only a part of the file was selected.
      if (!unexplained && with_additions_.count(step.artifact) == 0) continue;
      if (unexplained && !selected_) continue;
      if (const auto error = impossible(step)) {
        block(*error);
      } else if (unexplained && failed_ != nullptr) {
        block(*failed_);
      } else if (Change change = file_change(file_, step, states_, edited ? Origin::kDrift : Origin::kConfig);
                 !change.fields.empty()) {
        plan_.changes.push_back(std::move(change));
        step.resources.push_back(file_);
        shown = true;
      }
    }
    return shown;
  }

  void block(const Error& error) { plan_.blocked.push_back({file_, repeated_error(error, step_count_), {}}); }

  ResourceId file_;
  const std::vector<ResourceState*>& states_;
  const NodePlanInput& input_;
  std::set<ArtifactId> with_additions_;
  NodePlan& plan_;
  const Error* failed_ = nullptr;
  bool selected_ = true;
  std::size_t step_count_ = 0;  ///< Each may be blocked.
};

}  // namespace

void plan_steps_of_type(const ResourceType& type, ResourceStates& states, const NodePlanInput& input, NodePlan& plan) {
  if (input.observed == nullptr) return;
  const std::string& name = type.info().name;
  const auto observed = input.observed->types.find(name);
  if (observed == input.observed->types.end()) return;
  const std::vector<ResourceState*> mine = states_of(name, states);
  const bool any_selected = std::any_of(mine.begin(), mine.end(), [](const auto* state) { return state->selected; });
  // Without any resource there may still be an artifact from an interrupted run.
  if (!any_selected && !mine.empty()) return;
  std::vector<Step> steps = readable_steps(type, mine, observed->second, input.manifest, states.size());
  auto additions = with_additions(type, mine, observed->second, input.manifest);
  StepsOfType(name, mine, input, std::move(additions), plan).add(std::move(steps));
}

}  // namespace sparkplan
