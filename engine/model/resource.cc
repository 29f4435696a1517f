#include "engine/model/resource.h"

#include <array>

#include "engine/core/bounded_text.h"
#include "engine/model/field_reader.h"

namespace sparkplan {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 5> kImpacts{"live", "needs-relogin", "restarts-service", "interrupts-network",
                                                   "needs-reboot"};
constexpr std::array<std::string_view, 3> kReversible{"exact", "best_effort", "no"};

template <class Enum, std::size_t kCount>
std::optional<Enum> from_name(const std::array<std::string_view, kCount>& names, std::string_view name) {
  for (std::size_t i = 0; i < kCount; ++i) {
    if (names[i] == name) return static_cast<Enum>(i);
  }
  return std::nullopt;
}

Value encode_texts(const std::map<std::string, std::string>& texts) {
  Value::Map entries;
  for (const auto& [key, text] : texts) entries.push_back({key, text, {}});
  return {std::move(entries)};
}

Value encode_claim(const ForeignClaim& claim) {
  return Value::map({{"id", claim.id.str()},
                     {"field", claim.field},
                     {"value", claim.value},
                     {"source", claim.source},
                     {"message", claim.message},
                     {"harmless", claim.harmless}});
}

Value encode_type(const ObservedType& type) {
  Value::Map resources;
  for (const auto& [name, observation] : type.resources) resources.push_back({name, encode(observation), {}});
  Value::Map artifacts;
  for (const auto& [id, observation] : type.artifacts) artifacts.push_back({id.str(), encode(observation), {}});
  return Value::map({{"resources", std::move(resources)},
                     {"artifacts", std::move(artifacts)},
                     {"foreign", encode_list(type.foreign, encode_claim)}});
}

Result<ForeignClaim> decode_claim(const Value& value) {
  FieldReader fields(value);
  ForeignClaim claim;
  claim.id = fields.require("id").object("id", ResourceId{}, decode_id<ResourceId>);
  claim.field = cut_text(fields.text("field"), kLongestShortText);
  claim.value = fields.any("value");
  claim.source = cut_text(fields.text("source"), kLongestErrorMessage);
  claim.message = cut_text(fields.text("message"), kLongestErrorMessage);
  claim.harmless = fields.boolean("harmless", false);
  SPARK_CHECK(std::move(fields).check());
  return claim;
}

Result<ObservedType> decode_type(const Value& value) {
  FieldReader fields(value);
  ObservedType type;
  type.resources = fields.map<std::string, Observation>("resources", same_key, decode_observation);
  type.artifacts = fields.map<ArtifactId, Observation>("artifacts", ArtifactId::parse, decode_observation);
  type.foreign = fields.list<ForeignClaim>("foreign", decode_claim);
  SPARK_CHECK(std::move(fields).check());
  return type;
}

struct ObservationEncoder {
  Value operator()(const Absent& /*nothing*/) const { return Value::map({{"state", "absent"}}); }
  Value operator()(const Present& present) const {
    Value value = Value::map({{"state", "present"}, {"value", present.value}});
    if (!present.not_applicable.empty()) value.set("not_applicable", encode_texts(present.not_applicable));
    return value;
  }
  Value operator()(const NotApplicable& not_applicable) const {
    return Value::map({{"state", "not_applicable"}, {"reason", not_applicable.reason}});
  }
  Value operator()(const Error& error) const { return Value::map({{"state", "error"}, {"error", encode(error)}}); }
};

}  // namespace

std::string_view to_string(Impact impact) { return kImpacts.at(static_cast<std::size_t>(impact)); }
std::string_view to_string(Reversible reversible) { return kReversible.at(static_cast<std::size_t>(reversible)); }
std::optional<Impact> impact_from(std::string_view name) { return from_name<Impact>(kImpacts, name); }
std::optional<Reversible> reversible_from(std::string_view name) { return from_name<Reversible>(kReversible, name); }

Value encode(const Observation& observation) { return std::visit(ObservationEncoder{}, observation); }

Value encode(const ObservedState& observed) {
  Value::Map types;
  for (const auto& [name, type] : observed.types) types.push_back({name, encode_type(type), {}});
  return Value::map({{"types", std::move(types)}});
}

Value encode(const Error& whole) {
  const Error error = bounded(whole);
  Value value = Value::map({{"code", to_string(error.code)}, {"message", error.message}});
  if (!error.context.empty()) {
    value.set("context", encode_list(error.context, [](const std::string& level) { return Value(level); }));
  }
  if (error.sys_errno) value.set("sys_errno", *error.sys_errno);
  if (!error.hint.empty()) value.set("hint", error.hint);
  return value;
}

Result<Observation> decode_observation(const Value& value) {
  FieldReader fields(value);
  const std::string state = fields.require("state").text("state");
  Observation observation = Absent{};
  if (state == "present") {
    Present present;
    present.value = fields.require("value").any("value");
    present.not_applicable = fields.map<std::string, std::string>("not_applicable", same_key, decode_text);
    observation = std::move(present);
  } else if (state == "not_applicable") {
    observation = NotApplicable{cut_text(fields.text("reason"), kLongestErrorMessage)};
  } else if (state == "error") {
    observation = fields.require("error").object("error", Error{}, decode_error);
  } else if (state != "absent") {
    fields.reject("state", "no such state: \"" + shown_text(state) + "\"");
  }
  SPARK_CHECK(std::move(fields).check());
  return observation;
}

Result<ObservedState> decode_observed_state(const Value& value) {
  FieldReader fields(value);
  ObservedState observed;
  observed.types = fields.require("types").map<std::string, ObservedType>("types", same_key, decode_type);
  SPARK_CHECK(std::move(fields).check());
  return observed;
}

Result<Error> decode_error(const Value& value) {
  FieldReader fields(value);
  Error error;
  const std::string code = fields.require("code").text("code");
  // A code of a newer version is still a failure, and the message says which.
  error.code = error_code_from(code).value_or(ErrorCode::kFailed);
  // Another program's bug is a failure to this one: exit status 1 is for what goes wrong here.
  if (error.code == ErrorCode::kBug) error.code = ErrorCode::kFailed;
  error.message = fields.require("message").text("message");
  error.context = fields.list<std::string>("context", decode_text);
  if (value.find("sys_errno") != nullptr) error.sys_errno = fields.integer("sys_errno", 0);
  error.hint = fields.text("hint");
  SPARK_CHECK(std::move(fields).check());
  return bounded(std::move(error));
}

}  // namespace sparkplan
