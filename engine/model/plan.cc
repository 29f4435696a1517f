#include "engine/model/plan.h"

#include <array>

#include "engine/model/field_reader.h"

namespace sparkplan {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 3> kActions{"create", "update", "remove"};
constexpr std::array<std::string_view, 3> kOrigins{"config", "drift", "foreign"};
constexpr std::array<std::string_view, 9> kPhases{"packages",       "users_and_keys",    "files",
                                                  "kernel_modules", "kernel_parameters", "units",
                                                  "storage",        "restarts",          "network"};

Result<Reversible> decode_reversible(const Value& value) {
  SPARK_TRY(const auto text, decode_text(value));
  if (const auto reversible = reversible_from(text)) return *reversible;
  return failure(FieldReader::invalid("no such degree of reversibility: \"" + text + "\""));
}

Result<Phase> decode_phase(const Value& value) {
  SPARK_TRY(const auto text, decode_text(value));
  if (const auto phase = phase_from(text)) return *phase;
  return failure(FieldReader::invalid("no such phase: \"" + text + "\""));
}

}  // namespace

std::string_view to_string(Action action) { return kActions.at(static_cast<std::size_t>(action)); }
std::string_view to_string(Origin origin) { return kOrigins.at(static_cast<std::size_t>(origin)); }
std::string_view to_string(Phase phase) { return kPhases.at(static_cast<std::size_t>(phase)); }

std::optional<Phase> phase_from(std::string_view name) {
  for (std::size_t i = 0; i < kPhases.size(); ++i) {
    if (kPhases[i] == name) return static_cast<Phase>(i);
  }
  return std::nullopt;
}

Value encode(const Step& step) {
  Value value = Value::map({{"type", step.type},
                            {"artifact", step.artifact.str()},
                            {"phase", to_string(step.phase)},
                            {"before", encode(step.before)},
                            {"after", encode(step.after)},
                            {"resources", encode_list(step.resources, encode_id)},
                            {"needs", encode_list(step.needs, encode_id)},
                            {"group", step.group},
                            {"activates", step.activates},
                            {"cutting", step.disruptive}});
  if (step.reversible != Reversible::kExact) value.set("reversible", to_string(step.reversible));
  return value;
}

Result<Step> decode_step(const Value& value) {
  FieldReader fields(value);
  Step step;
  step.type = fields.require("type").text("type");
  step.artifact = fields.require("artifact").object("artifact", ArtifactId{}, decode_id<ArtifactId>);
  step.phase = fields.require("phase").object("phase", step.phase, decode_phase);
  step.before = fields.require("before").object("before", step.before, decode_observation);
  if (std::holds_alternative<Error>(step.before)) fields.reject("before", "an error is no state to start from");
  step.after = fields.require("after").object("after", step.after, decode_observation);
  if (!std::holds_alternative<Absent>(step.after) && !std::holds_alternative<Present>(step.after)) {
    fields.reject("after", "expected absent or present");
  }
  step.resources = fields.list<ResourceId>("resources", decode_id<ResourceId>);
  step.needs = fields.list<ResourceId>("needs", decode_id<ResourceId>);
  step.group = fields.text("group");
  step.activates = fields.boolean("activates", step.activates);
  step.disruptive = fields.boolean("cutting", step.disruptive);
  step.reversible = fields.object("reversible", step.reversible, decode_reversible);
  SPARK_CHECK(std::move(fields).check());
  return step;
}

}  // namespace sparkplan
