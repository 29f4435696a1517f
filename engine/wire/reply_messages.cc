// What the agent answers to facts, apply and effect requests.
#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/wire/messages.h"

namespace sparkplan {
namespace {

constexpr std::array<std::pair<StepOutcome, std::string_view>, 5> kOutcomeNames{{
    {StepOutcome::kDone, "done"},
    {StepOutcome::kFailed, "failed"},
    {StepOutcome::kStale, "stale"},
    {StepOutcome::kUndone, "undone"},
    {StepOutcome::kNotDone, "not_done"},
}};

tl::unexpected<Error> malformed(std::string_view what) {
  return failure(ErrorCode::kInvalidInput, "malformed message: " + std::string(what));
}

Result<StepResult> decode_step_result(const Value& value) {
  StepResult result;
  SPARK_TRY(result.artifact, ArtifactId::parse(value.text_or("artifact", "")));
  const auto outcome = step_outcome_from(value.text_or("outcome", ""));
  if (!outcome) return malformed("outcome");
  result.outcome = *outcome;
  if (const auto* error = value.find("error")) {
    SPARK_TRY(result.error, decode_error(*error));
  }
  return result;
}

}  // namespace

std::string_view to_string(StepOutcome outcome) {
  for (const auto& [value, name] : kOutcomeNames) {
    if (value == outcome) return name;
  }
  return "not_done";
}

std::optional<StepOutcome> step_outcome_from(std::string_view name) {
  const auto* known =
      std::find_if(kOutcomeNames.begin(), kOutcomeNames.end(), [&](const auto& entry) { return entry.second == name; });
  return known == kOutcomeNames.end() ? std::nullopt : std::optional(known->first);
}

Value encode(const FactsReply& reply) {
  Value value = Value::map({{"facts", encode(reply.facts)}});
  if (reply.manifest) value.set("manifest", encode(*reply.manifest));
  if (reply.lock_holder) value.set("lock_holder", encode(*reply.lock_holder));
  if (reply.transaction) value.set("transaction", encode(*reply.transaction));
  Value exports = Value::map();
  for (const auto& [type, exported] : reply.exports) exports.set(type, exported);
  value.set("exports", std::move(exports));
  Value errors = Value::map();
  for (const auto& [type, error] : reply.export_errors) errors.set(type, encode(error));
  value.set("export_errors", std::move(errors));
  if (!reply.observed.types.empty()) value.set("observed", encode(reply.observed));
  return value;
}

Result<FactsReply> decode_facts_reply(const Value& value) {
  const auto* facts = value.find("facts");
  if (facts == nullptr) return malformed("facts");
  FactsReply reply;
  SPARK_TRY(reply.facts, decode_facts(*facts));
  if (const auto* manifest = value.find("manifest")) {
    SPARK_TRY(reply.manifest, decode_manifest(*manifest));
  }
  if (const auto* holder = value.find("lock_holder")) {
    SPARK_TRY(reply.lock_holder, decode_lock_holder(*holder));
  }
  if (const auto* transaction = value.find("transaction")) {
    SPARK_TRY(reply.transaction, decode_transaction_report(*transaction));
  }
  if (const auto* exports = value.find("exports"); exports != nullptr && exports->is_map()) {
    for (const auto& [type, exported, where] : *exports->entries()) reply.exports.emplace(type, exported);
  }
  if (const auto* errors = value.find("export_errors"); errors != nullptr && errors->is_map()) {
    for (const auto& [type, encoded, where] : *errors->entries()) {
      SPARK_TRY(auto error, decode_error(encoded));
      reply.export_errors.emplace(type, std::move(error));
    }
  }
  if (const auto* observed = value.find("observed")) {
    SPARK_TRY(reply.observed, decode_observed_state(*observed));
  }
  return reply;
}

Value encode(const ApplyReply& reply) {
  Value::List results;
  for (const auto& result : reply.results) {
    Value item = Value::map({{"artifact", result.artifact.str()}, {"outcome", to_string(result.outcome)}});
    if (result.error) item.set("error", encode(*result.error));
    results.push_back(std::move(item));
  }
  return Value::map({{"results", Value(std::move(results))}, {"stopped", reply.stopped}});
}

Result<ApplyReply> decode_apply_reply(const Value& value) {
  const auto* results = value.find("results");
  if (results == nullptr || results->list_items() == nullptr) return malformed("results");
  ApplyReply reply;
  reply.stopped = value.boolean_or("stopped", false);
  for (const auto& item : *results->list_items()) {
    SPARK_TRY(auto result, decode_step_result(item));
    reply.results.push_back(std::move(result));
  }
  return reply;
}

Value encode(const EffectReply& reply) {
  Value by_type = Value::map();
  for (const auto& [type, findings] : reply.ineffective) {
    Value::List list;
    for (const auto& one : findings) {
      list.push_back(
          Value::map({{"name", one.name}, {"code", one.code}, {"message", one.message}, {"hint", one.hint}}));
    }
    by_type.set(type, Value(std::move(list)));
  }
  return Value::map({{"ineffective", std::move(by_type)}});
}

Result<EffectReply> decode_effect_reply(const Value& value) {
  const auto* by_type = value.find("ineffective");
  if (by_type == nullptr || !by_type->is_map()) return malformed("ineffective");
  EffectReply reply;
  for (const auto& [type, list, where] : *by_type->entries()) {
    if (list.list_items() == nullptr) return malformed("ineffective");
    for (const auto& one : *list.list_items()) {
      reply.ineffective[type].push_back({cut_text(one.text_or("name", ""), kLongestErrorMessage),
                                         cut_text(one.text_or("code", ""), kLongestShortText),
                                         cut_text(one.text_or("message", ""), kLongestErrorMessage),
                                         cut_text(one.text_or("hint", ""), kLongestErrorHint)});
    }
  }
  return reply;
}

}  // namespace sparkplan
