#include "resources/systemd_unit/unit_value.h"

#include <utility>

#include "engine/core/tree.h"
#include "resources/systemd_unit/unit_text.h"

namespace sparkplan::systemd_unit {
namespace {

constexpr const char* kNothingRuns = "the node is not a running system";

Value files_of(const UnitState& unit) {
  Value value = Value::map();
  if (unit.content) value.set(field::kContent, *unit.content);
  if (unit.drop_in) value.set(field::kDropIn, *unit.drop_in);
  if (!unit.attributes.empty()) value.set(field::kAttributes, unit.attributes);
  return value;
}

}  // namespace

Observation resource_of(const UnitState& unit, bool live) {
  Present present{files_of(unit), {}};
  if (!live) {
    present.not_applicable[std::string(field::kEnabled)] = kNothingRuns;
    present.not_applicable[std::string(field::kState)] = kNothingRuns;
    return present;
  }
  if (!unit.exists() && !unit.drop_in) return Absent{};
  if (!unit.running) return present;
  const RunningState& running = *unit.running;
  if (unit.exists()) {
    if (running.enabled_known) present.value.set(field::kEnabled, running.enabled);
    present.value.set(field::kState, running.state);
  }
  // A unit that is down reads its new file at its next start. A unit that has run used the old file.
  const bool has_old_file = running.up || running.state == state::kFinished;
  if (unit.restart_pending && has_old_file) present.value.set(field::kRestart, "pending");
  if (running.needs_reload) present.value.set(field::kReload, "needed");
  return present;
}

Observation artifact_of(const UnitState& unit) {
  Value value = files_of(unit);
  if (unit.running && unit.exists()) {
    if (unit.running->enabled_known) value.set(field::kEnabled, unit.running->enabled);
    value.set(field::kState, unit.running->up ? state::kStarted : state::kStopped);
  }
  if (!unit.content_attributes.empty()) value.set(field::kContentAttributes, unit.content_attributes);
  if (unit.restart_pending) value.set(field::kRestart, "pending");
  return settled(std::move(value));
}

Observation settled(Value value) {
  const bool idle = !value.boolean_or(field::kEnabled, false) && value.text_or(field::kState, "") != state::kStarted;
  const bool bare = value.find(field::kContent) == nullptr && value.find(field::kDropIn) == nullptr &&
                    value.find(field::kRestart) == nullptr;
  if (idle && bare) return Absent{};
  return Present{std::move(value), {}};
}

Result<WantedUnit> wanted_from(const Observation& artifact) {
  WantedUnit wanted;
  if (std::holds_alternative<Absent>(artifact)) {
    wanted.enabled = wanted.up = false;
    return wanted;
  }
  const auto* present = std::get_if<Present>(&artifact);
  if (present == nullptr || !present->value.is_map()) {
    return failure(ErrorCode::kBug, "a unit can only become absent or present");
  }
  const Value& value = present->value;
  wanted.content = text_below(value, field::kContent);
  wanted.drop_in = text_below(value, field::kDropIn);
  wanted.attributes = value.text_or(field::kAttributes, "");
  wanted.content_attributes = value.text_or(field::kContentAttributes, "");
  if (const Value* enabled = value.find(field::kEnabled)) {
    if (enabled->boolean() == nullptr) return failure(ErrorCode::kBug, "a unit is enabled or it is not");
    wanted.enabled = *enabled->boolean();
  }
  if (const std::optional<std::string> text = text_below(value, field::kState)) {
    if (*text != state::kStarted && *text != state::kStopped) {
      return failure(ErrorCode::kBug, "a unit cannot be made \"" + *text + "\"");
    }
    wanted.up = *text == state::kStarted;
  }
  wanted.restart_pending = value.find(field::kRestart) != nullptr;
  return wanted;
}

}  // namespace sparkplan::systemd_unit
