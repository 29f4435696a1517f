#include "resources/systemd_unit/unit_steps.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "engine/core/tree.h"
#include "engine/resource/steps.h"
#include "resources/systemd_unit/unit_text.h"
#include "resources/systemd_unit/unit_value.h"

namespace sparkplan::systemd_unit {
namespace {

/// Each changed unit is looked for among all. With its obstacles, a unit has five artifacts.
constexpr std::size_t kMostUnits = 2'000;

/// A finished or skipped unit counts as started and as stopped; a failed unit counts as stopped.
bool amounts_to(const FieldChange& change) {
  const std::string before = change.before.string() == nullptr ? "" : *change.before.string();
  const std::string wanted = change.after.string() == nullptr ? "" : *change.after.string();
  if (wanted == state::kStarted) return before == state::kFinished || before == state::kSkipped;
  return wanted == state::kStopped &&
         (before == state::kFinished || before == state::kSkipped || before == state::kFailed);
}

bool names(const Change& change, std::string_view path) {
  return std::ranges::any_of(change.fields, [&](const FieldChange& field) { return field.path == path; });
}

void copy_or_erase(Value& to, std::string_view key, const Value* value) {
  if (value == nullptr || value->is_null()) {
    to.erase(key);
  } else {
    to.set(key, *value);
  }
}

/// True if the unit's file will be ours.
bool is_given(const std::string& name, const StepsInput& input) {
  return std::ranges::any_of(input.target, [&](const Resource& resource) {
    return resource.id.name == name && resource.desired.find(field::kContent) != nullptr;
  });
}

/// The text of the unit file, else of our drop-in; a node may send 4 MB of it, so it is not copied.
std::string_view text_of(const Observation& unit) {
  const Value& value = present_value(unit);
  const Value* content = value.find(field::kContent);
  return sparkplan::text_of(content != nullptr ? content : value.find(field::kDropIn));
}

/// One changed unit: its observed, original and desired values.
class ChangedUnit {
 public:
  ChangedUnit(const Change& change, const StepsInput& input)
      : change_(change), artifact_(unit_artifact(change.id.name)) {
    if (const Observation* seen = input.seen(artifact_)) before_ = *seen;
    if (const Resource* target = input.target_of(change.id)) wanted_ = &target->desired;
    if (const Observation* original = input.original(artifact_)) {
      managed_ = true;
      if (std::holds_alternative<Present>(*original)) original_ = present_value(*original);
    }
    template_is_ours_ = is_given(template_of(change.id.name), input);
    const Present* present = input.seen(change.id.name);
    live_ = present == nullptr || present->not_applicable.empty();
  }

  std::optional<Step> step(const TypeInfo& info) const {
    if (std::holds_alternative<NotApplicable>(before_) || std::holds_alternative<Error>(before_)) return std::nullopt;
    Step step = step_for(artifact_, change_.id, info);
    step.before = before_;
    step.after = after();
    step.group = change_.id.str();
    step.disruptive =
        may_cut_off(step.artifact.name, text_of(step.before)) || may_cut_off(step.artifact.name, text_of(step.after));
    return step;
  }

  /// The kinds of obstacles that prevent the desired value.
  std::vector<std::string_view> obstacles() const {
    if (wanted_ == nullptr) return {};
    // Even if the unit is managed, its file may be foreign and only its drop-in ours.
    if (wants(field::kContent)) return {obstacle::kHiddenFile, obstacle::kForeignFile};
    if (template_is_ours_) return {};
    if (wants(field::kEnabled) && wanted_->boolean_or(field::kEnabled, false)) {
      return {obstacle::kNoUnit, obstacle::kStatic};
    }
    return {obstacle::kNoUnit};
  }

 private:
  bool wants(std::string_view key) const { return wanted_ != nullptr && wanted_->find(key) != nullptr; }

  /// A text from before sparkplan; null if sparkplan itself wrote it.
  const Value* original_text(std::string_view key) const {
    const Value* text = original_.find(key);
    return text == nullptr || text->string() == nullptr || is_ours(*text->string()) ? nullptr : text;
  }

  Observation after() const {
    const auto* present = std::get_if<Present>(&before_);
    Value value = present == nullptr ? Value::map() : present->value;
    const Value now = value;
    value.erase(field::kAttributes);
    value.erase(field::kRestart);
    for (const std::string_view key : {field::kContent, field::kDropIn}) {
      if (wants(key)) {
        value.set(key, *wanted_->find(key));
      } else if (names(change_, key) && !(key == field::kContent && has_foreign_content(now))) {
        copy_or_erase(value, key, original_text(key));
      }
    }
    set_content_attributes(value, now);
    const bool had_content = now.find(field::kContent) != nullptr;
    const bool has_content = value.find(field::kContent) != nullptr;
    const bool wants_unit = wants(field::kEnabled) || wants(field::kState) || wants(field::kDropIn);
    if (!wants_unit && had_content && !has_content) {
      value.erase(field::kEnabled);  // Without its file the unit no longer exists.
      value.erase(field::kState);
    } else if (live_ && !is_template(change_.id.name)) {
      set_enabled(value);
      set_state(value, now);
    }
    return settled(std::move(value));
  }

  /// A foreign file has replaced our file; it is not removed.
  static bool has_foreign_content(const Value& now) {
    const Value* content = now.find(field::kContent);
    return content != nullptr && content->string() != nullptr && !is_ours(*content->string());
  }

  /// A restored file gets its own mode and owner; a file that stays keeps them.
  void set_content_attributes(Value& value, const Value& now) const {
    const Value* content = value.find(field::kContent);
    const Value* here = now.find(field::kContent);
    if (content != nullptr && here != nullptr && *content == *here) return;
    const Value* own = has_foreign_content(value) ? original_.find(field::kContentAttributes) : nullptr;
    copy_or_erase(value, field::kContentAttributes, own);
  }

  void set_enabled(Value& value) const {
    if (wants(field::kEnabled)) {
      value.set(field::kEnabled, *wanted_->find(field::kEnabled));
    } else if (wanted_ == nullptr && names(change_, field::kEnabled) && managed_) {
      value.set(field::kEnabled, original_.boolean_or(field::kEnabled, false));
    } else if (value.find(field::kEnabled) == nullptr) {
      value.set(field::kEnabled, false);
    }
  }

  /// A finished oneshot runs again for a new file only if its desired state is "started".
  void set_state(Value& value, const Value& now) const {
    const bool files_change =
        names(change_, field::kContent) || names(change_, field::kDropIn) || names(change_, field::kRestart);
    if (wants(field::kState)) {
      if (files_change || names(change_, field::kState)) value.set(field::kState, *wanted_->find(field::kState));
    } else if (wanted_ == nullptr && names(change_, field::kState) && managed_) {
      value.set(field::kState, original_.text_or(field::kState, state::kStopped));
    } else if (names(change_, field::kRestart) && now.find(field::kState) != nullptr) {
      value.set(field::kState, state::kStarted);
    }
    if (value.find(field::kState) == nullptr) value.set(field::kState, state::kStopped);
  }

  const Change& change_;
  ArtifactId artifact_;
  Observation before_ = Absent{};
  const Value* wanted_ = nullptr;  ///< Null: it is no longer desired.
  bool managed_ = false;           ///< Its state before sparkplan is known.
  Value original_ = Value::map();
  bool template_is_ours_ = false;  ///< After this run its template is ours.
  bool live_ = true;
};

/// The text that a step writes, or removes with the unit.
std::string_view text_of(const Step& step) {
  return text_of(std::holds_alternative<Absent>(step.after) ? step.before : step.after);
}

bool is_started(const Observation& unit) { return present_value(unit).text_or(field::kState, "") == state::kStarted; }

/// Steps run by ascending rank: later units may need earlier ones. systemd refuses a socket while its service runs, and
/// a timer without its service.
int rank(const Step& step) {
  const std::string& name = step.artifact.name;
  if (is_template(name)) return 0;
  if (name.ends_with(".service")) return is_started(step.after) ? 3 : 1;
  return name.ends_with(".timer") || name.ends_with(".path") || name.ends_with(".target") ? 4 : 2;
}

/// Puts each step after the steps of the units that its unit depends on. A circle is cut where it closes.
class StepOrder {
 public:
  explicit StepOrder(std::vector<Step> steps) : steps_(std::move(steps)), placed_(steps_.size(), false) {
    std::ranges::stable_sort(steps_, [](const Step& a, const Step& b) { return rank(a) < rank(b); });
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      names_.insert(steps_[i].artifact.name);
      of_name_[steps_[i].artifact.name].push_back(i);
    }
  }

  std::vector<Step> ordered() {
    for (std::size_t i = 0; i < steps_.size(); ++i) place(i);
    // A removed unit comes before the units it depends on: stopping those would stop it, too.
    std::vector<Step> result;
    for (auto index = order_.rbegin(); index != order_.rend(); ++index) {
      if (std::holds_alternative<Absent>(steps_[*index].after)) result.push_back(std::move(steps_[*index]));
    }
    // A step that has been moved keeps its kind of state, so no step is taken twice.
    for (const std::size_t index : order_) {
      if (!std::holds_alternative<Absent>(steps_[index].after)) result.push_back(std::move(steps_[index]));
    }
    return result;
  }

 private:
  void place(std::size_t index) {
    if (placed_[index]) return;
    placed_[index] = true;
    for (const std::size_t other : not_placed_before(index)) place(other);
    order_.push_back(index);
  }

  /// The other steps that have to come before, in their order. Each text is read once, whatever their number.
  std::vector<std::size_t> not_placed_before(std::size_t index) const {
    std::set<std::string_view> units = dependencies_among(names_, text_of(steps_[index]));
    const std::string its_template = template_of(steps_[index].artifact.name);
    if (const auto found = names_.find(its_template); found != names_.end()) units.insert(*found);
    std::vector<std::size_t> others;
    for (const std::string_view unit : units) {
      for (const std::size_t other : of_name_.at(unit)) {
        if (!placed_[other]) others.push_back(other);
      }
    }
    std::ranges::sort(others);
    return others;
  }

  std::vector<Step> steps_;
  std::set<std::string_view> names_;  ///< Of steps_, as the keys of of_name_.
  std::map<std::string_view, std::vector<std::size_t>> of_name_;
  std::vector<bool> placed_;
  std::vector<std::size_t> order_;
};

Step blocking_step(const Change& change, std::string_view kind, const TypeInfo& info) {
  Step step = step_for({std::string(kind), change.id.name}, change.id, info);
  step.group = change.id.str();
  return step;
}

}  // namespace

ArtifactId unit_artifact(std::string_view name) { return {"unit", std::string(name)}; }

ReportedShapes reported_units() {
  const Shape word = Shape::text(Shape::kMostLineBytes);
  const Shape unit = Shape::map({{field::kContent, Shape::text()},
                                 {field::kDropIn, Shape::text()},
                                 {field::kEnabled, Shape::boolean()},
                                 {field::kState, word},
                                 {field::kAttributes, word},
                                 {field::kContentAttributes, word},
                                 {field::kReload, word},
                                 {field::kRestart, word}});
  ReportedShapes reported;
  reported.resource = unit;
  reported.most = kMostUnits;
  reported.longest_name = kLongestWordName;
  reported.artifacts = {{unit_artifact({}).kind, unit}};
  for (const std::string_view kind :
       {obstacle::kForeignFile, obstacle::kHiddenFile, obstacle::kNoUnit, obstacle::kStatic}) {
    reported.artifacts.push_back({std::string(kind), Shape::map({})});
  }
  return reported;
}

std::vector<FieldChange> complete_diff(const Resource& resource, const Present& present,
                                       std::vector<FieldChange> compared) {
  std::erase_if(compared, [](const FieldChange& change) { return change.path == field::kState && amounts_to(change); });
  // The unit is no longer in cluster.yaml. A pending restart or reload is no reason to keep it.
  if (!resource.where.known()) return compared;
  const Value& wanted = resource.desired;
  const auto seen = [&](std::string_view key) {
    return wanted.find(key) == nullptr ? present.value.find(key) : nullptr;
  };
  const auto add = [&](std::string_view key, Value after) {
    compared.push_back({std::string(key), *present.value.find(key), std::move(after)});
  };
  for (const std::string_view key : {field::kContent, field::kDropIn}) {
    const Value* text = seen(key);
    if (text != nullptr && text->string() != nullptr && is_ours(*text->string())) add(key, Value());
  }
  const bool writes = wanted.find(field::kContent) != nullptr || wanted.find(field::kDropIn) != nullptr;
  if (const Value* attributes = writes ? seen(field::kAttributes) : nullptr) {
    // The path is below the applied text, so that the difference counts as drift.
    const std::string_view text = wanted.find(field::kContent) != nullptr ? field::kContent : field::kDropIn;
    compared.push_back({std::string(text) + "." + std::string(field::kAttributes), *attributes, kAttributes});
  }
  if (writes && seen(field::kReload) != nullptr) add(field::kReload, "done");
  if (seen(field::kRestart) != nullptr && wanted.text_or(field::kState, "") != state::kStopped) {
    add(field::kRestart, "done");
  }
  std::ranges::sort(compared, {}, &FieldChange::path);
  return compared;
}

std::vector<Step> unit_steps(const StepsInput& input, const TypeInfo& info) {
  std::vector<Step> steps;
  for (const Change& change : input.changes) {
    const ChangedUnit unit(change, input);
    for (const std::string_view kind : unit.obstacles()) {
      if (input.observed.artifacts.contains({std::string(kind), change.id.name})) {
        steps.push_back(blocking_step(change, kind, info));
      }
    }
    append(steps, unit.step(info));
  }
  return StepOrder(std::move(steps)).ordered();
}

}  // namespace sparkplan::systemd_unit
