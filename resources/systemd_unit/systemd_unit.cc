#include <utility>

#include "engine/core/tree.h"
#include "resources/systemd_unit/unit_change.h"
#include "resources/systemd_unit/unit_state.h"
#include "resources/systemd_unit/unit_steps.h"
#include "resources/systemd_unit/unit_text.h"
#include "resources/systemd_unit/unit_value.h"
#include "resources/systemd_unit/verification.h"

/// systemd units: `units: [{name, content or drop_in, enabled, state}]`.
namespace sparkplan::systemd_unit {
namespace {

/// The desired value of one unit of the section, with its texts as the files contain them.
Value desired_value(const Value& unit) {
  Value desired = Value::map();
  for (const std::string_view key : {field::kContent, field::kDropIn}) {
    const Value* text = unit.find(key);
    if (text != nullptr && text->string() != nullptr) desired.set(key, render(*text->string()));
  }
  for (const std::string_view key : {field::kEnabled, field::kState}) {
    const Value* value = unit.find(key);
    if (value != nullptr && !value->is_null()) desired.set(key, *value);
  }
  return desired;
}

Impact impact_of(const std::string& name, const Value& desired) {
  const bool writes = desired.find(field::kContent) != nullptr || desired.find(field::kDropIn) != nullptr;
  const bool may_restart =
      can_be_restarted(name) && !is_template(name) && desired.text_or(field::kState, "") != state::kStopped;
  if (!writes || !may_restart) return Impact::kLive;
  return carries_the_connection(name) ? Impact::kInterruptsNetwork : Impact::kRestartsService;
}

Error foreign_file(const std::string& name) {
  return make_error(ErrorCode::kRefused, unit_path(name) + " was not written by sparkplan",
                    "change the unit with \"drop_in\" instead of \"content\", or move its file away");
}

Error hidden_file(const std::string& name, const std::string& path) {
  if (path == unit_path(name)) {
    return make_error(ErrorCode::kRefused, path + " is not a regular file",
                      "a symbolic link is in its place: move the link away");
  }
  return make_error(ErrorCode::kRefused, "our unit file would hide " + path,
                    "change the unit with \"drop_in\" instead of \"content\", or choose another name");
}

Error missing_unit(const std::string& name) {
  return make_error(ErrorCode::kNotFound, "there is no unit " + name,
                    "install the package that contains it, or set the unit's \"content\"");
}

Error static_unit(const std::string& name, const std::string& file_state) {
  return make_error(ErrorCode::kUnsupported,
                    name + " cannot be enabled: it is " + file_state + ", and its file does not say what wants it",
                    "leave \"enabled\" out: other units start it when they need it");
}

/// See namespace obstacle.
void add_obstacles(const std::string& name, const UnitState& unit, bool live, ObservedType& observed) {
  const auto add = [&](std::string_view kind, Error error) {
    observed.artifacts[{std::string(kind), name}] = std::move(error);
  };
  if (unit.content && !is_ours(*unit.content)) add(obstacle::kForeignFile, foreign_file(name));
  if (!unit.in_the_way.empty()) add(obstacle::kHiddenFile, hidden_file(name, unit.in_the_way));
  // The units of an image are not known before it runs.
  if (live && !unit.exists()) add(obstacle::kNoUnit, missing_unit(name));
  if (!unit.running || unit.running->enabled) return;
  const std::string& file_state = unit.running->file_state;
  if (file_state == "static" || file_state == "generated" || file_state == "transient") {
    add(obstacle::kStatic, static_unit(name, file_state));
  }
}

class SystemdUnitType final : public ResourceType {
 public:
  SystemdUnitType() {
    info_.name = "systemd_unit";
    info_.section = "units";
    info_.phase = Phase::kUnits;
    info_.summary = "systemd units and drop-ins, enabled and running";
    info_.files = {unit_path("NAME"), drop_in_path("NAME")};
    info_.impact_of_removal = Impact::kRestartsService;
    info_.checks_effect = true;
    info_.foresees = true;
    info_.records = {.identity = {"name"}, .bodies = {"content", "drop_in"}};
    info_.reported = reported_units();
  }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    for (const Value& unit : items_of(section)) {
      const Value* name = unit.find("name");
      if (name == nullptr || name->string() == nullptr || !is_unit_name(*name->string())) continue;
      result.resources.push_back(make_resource(*name->string(), desired_value(unit), name->where));
      result.resources.back().impact = impact_of(*name->string(), result.resources.back().desired);
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
                                    const Facts& /*own*/) const override {
    Value section = Value::list();
    for (const auto& [name, value] : applied) {
      Value record = Value::map({{"name", name}});
      for (const std::string_view key : {field::kContent, field::kDropIn}) {
        const Value* text = value.find(key);
        if (text != nullptr && text->string() != nullptr) record.set(key, without_header(*text->string()));
      }
      for (const std::string_view key : {field::kEnabled, field::kState}) {
        if (const Value* wanted = value.find(key)) record.set(key, *wanted);
      }
      section.push_back(std::move(record));
    }
    return section;
  }

  std::vector<Diagnostic> validate(const Value& section) const override { return validate_section(section); }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    for (const auto& [name, unit] : look_at_units(request.names, node)) {
      Observation& resource = observed.resources[name];
      Observation& artifact = observed.artifacts[unit_artifact(name)];
      const Result<std::optional<Override>> override =
          unit ? override_of(name, *unit, node) : Result<std::optional<Override>>(failure(unit.error()));
      if (!override) {
        resource = artifact = override.error();
        continue;
      }
      resource = resource_of(*unit, node.live());
      artifact = artifact_of(*unit);
      add_obstacles(name, *unit, node.live(), observed);
      if (*override) observed.foreign.push_back(claim_of(name, **override));
    }
    return observed;
  }

  std::vector<FieldChange> diff(const Resource& resource, const Present& present) const override {
    return complete_diff(resource, present, ResourceType::diff(resource, present));
  }

  std::vector<Step> steps(const StepsInput& input) const override { return unit_steps(input, info_); }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    if (artifact.kind != unit_artifact({}).kind) return ResourceType::read_artifact(artifact, node);
    const Result<UnitState> unit = look_at_unit(artifact.name, node);
    if (!unit) return unit.error();
    return artifact_of(*unit);
  }

  std::vector<Ineffective> foresee(const ChangesAhead& ahead, const NodeReader& node) const override {
    return units_without_program(ahead, node);
  }

  std::vector<Objection> prepare(std::span<const Step> steps, const ChangesAhead& ahead, Node& node) const override {
    return verify_candidates(steps, ahead, node);
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    if (artifact.kind != unit_artifact({}).kind) return ResourceType::apply(artifact, after, node);
    SPARK_TRY(const WantedUnit wanted, wanted_from(after));
    return make_unit(artifact.name, wanted, node);
  }

  std::vector<Ineffective> check_effect(const ValuesByName& desired, const NodeReader& node) const override {
    std::vector<std::string> names;
    for (const auto& [name, value] : desired) {
      if (value.text_or(field::kState, "") == state::kStarted) names.push_back(name);
    }
    std::vector<Ineffective> found;
    for (const auto& [name, unit] : look_at_units(names, node)) {
      if (!unit || !unit->running || unit->running->state != state::kSkipped) continue;
      found.push_back({name, "systemd_unit.condition_not_met",
                       name + " was not started: one of its conditions is not met",
                       "systemctl status " + name + " names the condition"});
    }
    return found;
  }

 private:
  ForeignClaim claim_of(const std::string& name, const Override& override) const {
    return {{info_.name, name},
            std::string(override.of_content ? field::kContent : field::kDropIn),
            override.value,
            override.source,
            override.message};
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<SystemdUnitType>(); }

}  // namespace sparkplan::systemd_unit
