#include "tests/support/describe.h"

#include <string>
#include <utility>

#include "engine/core/text.h"

namespace sparkplan::test {
namespace {

/// Text that ends in a newline becomes a list of lines. A changed line is then one line of a diff.
Value readable(const Value& value) {
  if (const std::string* text = value.string(); text != nullptr && text->ends_with('\n')) {
    Value lines = Value::list();
    for (const std::string_view line : split_lines(*text)) lines.push_back(line);
    return lines;
  }
  if (value.entries() == nullptr) return value;
  Value result = Value::map();
  for (const MapEntry& entry : *value.entries()) result.set(entry.key, readable(entry.value));
  return result;
}

Value describe(const Observation& observation) {
  if (const auto* present = std::get_if<Present>(&observation)) return readable(present->value);
  if (const auto* error = std::get_if<Error>(&observation)) return "error: " + error->describe();
  if (const auto* reason = std::get_if<NotApplicable>(&observation)) return "not applicable: " + reason->reason;
  return "absent";
}

Value describe(const Change& change) {
  Value fields = Value::map();
  for (const FieldChange& field : change.fields) {
    fields.set(field.path, Value::map({{"before", readable(field.before)}, {"after", readable(field.after)}}));
  }
  Value result = Value::map({{"id", change.id.str()},
                             {"action", to_string(change.action)},
                             {"origin", to_string(change.origin)},
                             {"impact", to_string(change.impact)},
                             {"reversible", to_string(change.reversible)},
                             {"line", change.where.line},
                             {"fields", std::move(fields)}});
  if (!change.note.empty()) result.set("note", change.note);
  return result;
}

Value describe(const Step& step) {
  Value resources = Value::list();
  for (const ResourceId& id : step.resources) resources.push_back(id.str());
  return Value::map({{"artifact", step.artifact.str()},
                     {"phase", to_string(step.phase)},
                     {"group", step.group},
                     {"resources", std::move(resources)},
                     {"before", describe(step.before)},
                     {"after", describe(step.after)}});
}

Value describe(const BlockedResource& blocked) {
  return Value::map({{"id", blocked.id.str()},
                     {"code", to_string(blocked.error.code)},
                     {"message", blocked.error.describe()},
                     {"hint", blocked.error.hint}});
}

Value describe(const SkippedResource& skipped) {
  return Value::map({{"id", skipped.id.str()}, {"field", skipped.field}, {"reason", skipped.reason}});
}

Value describe(const ResourceId& id) { return id.str(); }

Value describe(const Diagnostic& diagnostic) {
  return Value::map({{"severity", to_string(diagnostic.severity)},
                     {"code", diagnostic.code},
                     {"message", diagnostic.message},
                     {"line", diagnostic.where.line}});
}

template <class List>
void add(Value& result, std::string_view key, const List& list) {
  if (list.empty()) return;
  Value values = Value::list();
  for (const auto& one : list) values.push_back(describe(one));
  result.set(key, std::move(values));
}

}  // namespace

Value describe_plan(const NodePlan& plan, const std::vector<Diagnostic>& diagnostics) {
  Value result = Value::map();
  add(result, "changes", plan.changes);
  add(result, "steps", plan.steps);
  add(result, "blocked", plan.blocked);
  add(result, "not_applicable", plan.not_applicable);
  add(result, "kept_orphans", plan.kept_orphans);
  add(result, "waiting", plan.waiting);
  add(result, "diagnostics", diagnostics);
  return result;
}

}  // namespace sparkplan::test
