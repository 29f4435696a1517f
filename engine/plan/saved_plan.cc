#include "engine/plan/saved_plan.h"

#include <utility>

#include "engine/core/digest.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/model/field_reader.h"
#include "engine/plan/saved_plan_check.h"

namespace sparkplan {
namespace {

constexpr std::string_view kKey = "sparkplan_plan";
constexpr std::string_view kMakeAnother = "make another one: sparkplan plan -o PLAN";

tl::unexpected<Error> damaged(std::string why) {
  return failure(ErrorCode::kInvalidInput, "the saved plan is damaged: " + std::move(why), std::string(kMakeAnother));
}

/// Values that the text can hold at most, counted before any is made: each is the first of something or comes behind
/// a comma.
std::size_t most_values_in(std::string_view text) {
  std::size_t values = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char byte = text[i];
    if (in_string) {
      if (byte == '\\') ++i;
      in_string = byte != '"';
    } else {
      in_string = byte == '"';
      if (byte == ',' || byte == '[' || byte == '{') ++values;
    }
  }
  return values;
}

Value encode_texts(const std::vector<std::string>& texts) {
  return encode_list(texts, [](const std::string& text) { return Value(text); });
}

Result<PlannedMachine> decode_machine(const Value& value) {
  FieldReader fields(value);
  PlannedMachine machine{fields.text("machine_id"), fields.text("host_key")};
  SPARK_CHECK(std::move(fields).check());
  return machine;
}

Result<SavedPlan> decode_body(const Value& body) {
  FieldReader fields(body);
  SavedPlan plan;
  plan.id = fields.require("id").text("id");
  plan.created = fields.text("created");
  plan.sparkplan_version = fields.text("sparkplan_version");
  plan.source = fields.require("source").text("source");
  plan.beside = fields.map<std::string, std::string>("beside", same_key, decode_text);
  plan.only = fields.list<std::string>("only", decode_text);
  plan.exclude = fields.list<std::string>("exclude", decode_text);
  plan.machines = fields.map<std::string, PlannedMachine>(
      "machines", [](const std::string& name) { return Result<std::string>(name); }, decode_machine);
  plan.report = fields.require("plan").object("plan", Report{}, decode_report);
  SPARK_CHECK(std::move(fields).check());
  return plan;
}

/// Before the digest: a later version may have another one.
Result<void> check_format(const Value& body) {
  const auto format = body.text_or("format_version", "");
  const auto major = format.substr(0, format.find('.'));
  if (major == kSavedPlanFormat.substr(0, kSavedPlanFormat.find('.'))) return {};
  if (format.empty()) return damaged("it does not say its format");
  return failure(
      ErrorCode::kUnsupported,
      "the saved plan has format " + printable(format) + ", this sparkplan knows " + std::string(kSavedPlanFormat),
      "use the sparkplan that made it: " + printable(body.text_or("sparkplan_version", "a newer one")));
}

}  // namespace

bool is_too_large(std::string_view text) {
  return text.size() > kMostPlanBytes || most_values_in(text) > kMostPlanValues;
}

bool is_saved_plan(std::string_view text) {
  text = trim(text);
  if (!text.starts_with('{')) return false;
  return trim(text.substr(1)).starts_with("\"" + std::string(kKey) + "\"");
}

std::string encode_saved_plan(const SavedPlan& plan) {
  Value machines = Value::map();
  for (const auto& [node, machine] : plan.machines) {
    machines.set(node, Value::map({{"machine_id", machine.machine_id}, {"host_key", machine.host_key}}));
  }
  Value body = Value::map({{"format_version", kSavedPlanFormat},
                           {"id", plan.id},
                           {"created", plan.created},
                           {"sparkplan_version", plan.sparkplan_version},
                           {"cluster", plan.report.cluster},
                           {"file", plan.report.file},
                           {"config_digest", plan.report.config_digest},
                           {"only", encode_texts(plan.only)},
                           {"exclude", encode_texts(plan.exclude)},
                           {"machines", std::move(machines)},
                           {"plan", encode(plan.report)},
                           {"source", plan.source}});
  // Only where there are any: a plan without is what it always was.
  if (!plan.beside.empty()) {
    Value beside = Value::map();
    for (const auto& [name, text] : plan.beside) beside.set(name, text);
    body.set("beside", std::move(beside));
  }
  const auto seal = digest(body);
  body.set("digest", seal);
  return encode_json(Value::map({{kKey.data(), std::move(body)}}), 1) + "\n";
}

Result<SavedPlan> decode_saved_plan(std::string_view text) {
  if (is_too_large(text)) {
    return failure(ErrorCode::kInvalidInput, "the saved plan is larger than any that sparkplan makes",
                   std::string(kMakeAnother));
  }
  // The plans of all nodes: larger than any message.
  const auto value = decode_json(text, JsonLimits{kMostPlanBytes + kMostPlanValues * kJsonValueWeight});
  if (!value) return damaged("it is cut off or no JSON any more (" + value.error().describe() + ")");
  const auto* found = value->find(kKey);
  if (found == nullptr || !found->is_map()) return damaged("what it is to hold is missing");
  if (value->entries()->size() != 1) return damaged("it holds something besides the plan");
  Value body = *found;
  SPARK_CHECK(check_format(body));
  const auto seal = body.text_or("digest", "");
  body.erase("digest");
  if (seal != digest(body)) {
    return failure(ErrorCode::kInvalidInput, "the saved plan is not as it was written: its digest does not fit",
                   "a plan is not to be edited: change cluster.yaml and " + std::string(kMakeAnother));
  }
  auto plan = decode_body(body);
  if (!plan) return damaged(plan.error().describe());
  SPARK_CHECK(check_consistency(*plan));
  return plan;
}

}  // namespace sparkplan
