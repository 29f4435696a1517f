#include "engine/report/changes/removal_text.h"

#include <algorithm>
#include <optional>
#include <string_view>

#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

constexpr std::string_view kOnlyValue =
    "value";  // The key of artifacts that are one value, such as a kernel parameter.

bool is_of_resource_alone(const Step& step, const Change& change) {
  // First what is cheap: a step of a shared file can have thousands of resources, and each of them is a change.
  const bool may_be =
      is_text_artifact(step.artifact) ? step.artifact.name == change.id.name : step.resources.size() == 1;
  return may_be && std::find(step.resources.begin(), step.resources.end(), change.id) != step.resources.end();
}

Value value_or_null(const Value& map, std::string_view key) {
  const Value* found = map.find(key);
  return found == nullptr ? Value() : *found;
}

/// The later value of the field; nothing if the step does not show it.
std::optional<Value> value_after(const Step& step, const FieldChange& field) {
  const Value& before = present_value(step.before);
  const Value& after = present_value(step.after);
  if (before.find(field.path) != nullptr || after.find(field.path) != nullptr) return value_or_null(after, field.path);
  const Value* only = before.find(kOnlyValue);
  if (only == nullptr || !(*only == field.before)) return std::nullopt;
  return value_or_null(after, kOnlyValue);
}

}  // namespace

bool RemovalView::text_goes() const {
  return std::any_of(fields.begin(), fields.end(),
                     [](const FieldChange& field) { return field.path == "content" && field.after.is_null(); });
}

RemovalView view_of_removal(const Change& change, const NodePlan& plan) {
  RemovalView view;
  view.restores = !change.fields.empty();
  for (FieldChange field : change.fields) {
    std::optional<Value> restored;
    for (const Step& step : plan.steps) {
      if (!restored && is_of_resource_alone(step, change)) restored = value_after(step, field);
    }
    view.restores = view.restores && restored.has_value();
    if (restored) field.after = std::move(*restored);
    // The mode of a file often stays.
    if (!(field.after == field.before)) view.fields.push_back(std::move(field));
  }
  // With a text, the mode and the owner of a removed file are of no interest.
  if (view.text_goes()) std::erase_if(view.fields, [](const FieldChange& field) { return field.path != "content"; });
  return view;
}

}  // namespace sparkplan
