#include "engine/plan/saved_plan.h"

#include <utility>

#include "engine/core/digest.h"
#include "engine/core/json.h"
#include "engine/core/name_list.h"
#include "engine/core/text.h"
#include "engine/plan/saved_plan_check.h"

namespace sparkplan {
namespace {

constexpr std::string_view kKey = "sparkplan_plan";
constexpr std::string_view kMakeAnother = "make a new plan: sparkplan plan -o PLAN";

tl::unexpected<Error> damaged(std::string why) {
  return failure(ErrorCode::kInvalidInput, "the saved plan is damaged: " + std::move(why), std::string(kMakeAnother));
}

/// Checked before the digest: a later version may have another digest.
Result<void> check_format(const Value& body) {
  const auto format = body.text_or("format_version", "");
  const auto major = format.substr(0, format.find('.'));
  if (major == kSavedPlanFormat.substr(0, kSavedPlanFormat.find('.'))) return {};
  if (format.empty()) return damaged("it has no format_version");
  return failure(
      ErrorCode::kUnsupported,
      "the saved plan has format " + printable(format) + ", this sparkplan knows " + std::string(kSavedPlanFormat),
      "use the sparkplan that made it: " + printable(body.text_or("sparkplan_version", "a newer one")));
}

}  // namespace

void PlanSize::add(std::string_view piece) {
  bytes_ += piece.size();
  for (const char byte : piece) {
    if (is_escaped_) {
      is_escaped_ = false;
    } else if (in_string_) {
      is_escaped_ = byte == '\\';
      in_string_ = byte != '"';
    } else {
      in_string_ = byte == '"';
      if (byte == ',' || byte == '[' || byte == '{') ++values_;
    }
  }
}

bool is_too_large(std::string_view text) {
  PlanSize size;
  size.add(text);
  return size.is_too_large();
}

bool is_saved_plan(std::string_view text) {
  text = trim(text);
  if (!text.starts_with('{')) return false;
  return trim(text.substr(1)).starts_with("\"" + std::string(kKey) + "\"");
}

void list_fields(FieldVisitor& field, PlannedMachine& machine) {
  field("machine_id", machine.machine_id);
  field("host_key", machine.host_key);
}

void list_fields(FieldVisitor& field, SavedPlan& plan) {
  std::string format(kSavedPlanFormat);
  field("format_version", format);
  field("id", plan.id, kRequired);
  field("created", plan.created);
  field("sparkplan_version", plan.sparkplan_version);
  // For people and other programs, so that they need not read the report.
  Report heading{"", plan.report.cluster, plan.report.file, plan.report.config_digest, {}, {}};
  field("cluster", heading.cluster);
  field("file", heading.file);
  field("config_digest", heading.config_digest);
  field("only", plan.only, kOptional.no_longer_than(kMostPatternBytes).at_most(kMostPatterns));
  field("exclude", plan.exclude, kOptional.no_longer_than(kMostPatternBytes).at_most(kMostPatterns));
  field("machines", plan.machines, kPlanList);
  field("plan", plan.report, kRequired);
  field("source", plan.source, kRequired.no_longer_than(kMostPlanBytes));
  // Only if the plan has some: plans without such texts keep their format.
  field("beside", plan.beside, kPlanText.unless(plan.beside.empty()).at_most(kMostPlanValues));
}

Value sealed(SavedPlan plan) {
  Value body = encode(plan);
  plan = {};
  const auto seal = digest(body);
  body.set("digest", seal);
  // Value::map() copies its parts.
  Value whole = Value::map();
  whole.set(kKey, std::move(body));
  return whole;
}

namespace {

/// The content, without the digest that it was compared with.
Result<Value> unsealed(std::string_view text) {
  if (is_too_large(text)) {
    return failure(ErrorCode::kInvalidInput, "the saved plan is larger than any that sparkplan makes",
                   std::string(kMakeAnother));
  }
  // The plans of all nodes: larger than any message.
  auto value = decode_json(text, JsonLimits{kMostPlanBytes + kMostPlanValues * kJsonValueWeight});
  if (!value) return damaged("it is truncated or not JSON (" + value.error().describe() + ")");
  Value* found = value->find(kKey);
  if (found == nullptr || !found->is_map()) return damaged("its content is missing");
  if (value->entries()->size() != 1) return damaged("it contains more than the plan");
  Value body = std::move(*found);
  SPARK_CHECK(check_format(body));
  const auto seal = body.text_or("digest", "");
  body.erase("digest");
  if (seal != digest(body)) {
    return failure(ErrorCode::kInvalidInput, "the saved plan is not as it was written: its digest does not match",
                   "do not edit a plan: change cluster.yaml and " + std::string(kMakeAnother));
  }
  return body;
}

}  // namespace

Result<SavedPlan> decode_saved_plan(std::string text) {
  auto body = unsealed(text);
  std::string().swap(text);
  if (!body) return failure(std::move(body).error());
  auto plan = decode<SavedPlan>(*body);
  if (!plan) return damaged(plan.error().describe());
  SPARK_CHECK(check_consistency(*plan));
  return plan;
}

}  // namespace sparkplan
