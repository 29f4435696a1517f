// A report without loss: to_json_value() tells other programs what they need, this brings it back whole.
#include <array>
#include <utility>

#include "engine/model/field_reader.h"
#include "engine/plan/saved_plan.h"

namespace sparkplan {
namespace {

/// Any enumeration with a to_string(), from its first to its last enumerator.
template <class Enumeration, Enumeration kLast>
Result<Enumeration> decode_name(const Value& value) {
  SPARK_TRY(const auto text, decode_text(value));
  for (int i = 0; i <= static_cast<int>(kLast); ++i) {
    const auto candidate = static_cast<Enumeration>(i);
    if (to_string(candidate) == text) return candidate;
  }
  return failure(FieldReader::invalid("there is no \"" + text + "\""));
}

Value encode(const SourceRange& where) {
  return Value::map({{"line", where.line}, {"column", where.column}, {"end_column", where.end_column}});
}

Result<SourceRange> decode_where(const Value& value) {
  FieldReader fields(value);
  SourceRange where;
  where.line = fields.integer("line", where.line);
  where.column = fields.integer("column", where.column);
  where.end_column = fields.integer("end_column", where.end_column);
  SPARK_CHECK(std::move(fields).check());
  return where;
}

Value encode_field(const FieldChange& field) {
  return Value::map({{"path", field.path}, {"before", field.before}, {"after", field.after}});
}

Result<FieldChange> decode_field(const Value& value) {
  FieldReader fields(value);
  FieldChange field{fields.text("path"), fields.any("before"), fields.any("after")};
  SPARK_CHECK(std::move(fields).check());
  return field;
}

Value encode_change(const Change& change) {
  return Value::map({{"id", change.id.str()},
                     {"action", to_string(change.action)},
                     {"origin", to_string(change.origin)},
                     {"fields", encode_list(change.fields, encode_field)},
                     {"impact", to_string(change.impact)},
                     {"reversible", to_string(change.reversible)},
                     {"where", encode(change.where)},
                     {"note", change.note}});
}

Result<Change> decode_change(const Value& value) {
  FieldReader fields(value);
  Change change;
  change.id = fields.require("id").object("id", ResourceId{}, decode_id<ResourceId>);
  change.action = fields.require("action").object("action", change.action, decode_name<Action, Action::kRemove>);
  change.origin = fields.require("origin").object("origin", change.origin, decode_name<Origin, Origin::kForeign>);
  change.fields = fields.list<FieldChange>("fields", decode_field);
  change.impact = fields.object("impact", change.impact, decode_name<Impact, Impact::kNeedsReboot>);
  change.reversible = fields.object("reversible", change.reversible, decode_name<Reversible, Reversible::kNo>);
  change.where = fields.object("where", SourceRange{}, decode_where);
  change.note = fields.text("note");
  SPARK_CHECK(std::move(fields).check());
  return change;
}

Value encode_blocked(const BlockedResource& blocked) {
  return Value::map(
      {{"id", blocked.id.str()}, {"error", sparkplan::encode(blocked.error)}, {"where", encode(blocked.where)}});
}

Result<BlockedResource> decode_blocked(const Value& value) {
  FieldReader fields(value);
  BlockedResource blocked;
  blocked.id = fields.require("id").object("id", ResourceId{}, decode_id<ResourceId>);
  blocked.error = fields.require("error").object("error", Error{}, decode_error);
  blocked.where = fields.object("where", SourceRange{}, decode_where);
  SPARK_CHECK(std::move(fields).check());
  return blocked;
}

Value encode_skipped(const SkippedResource& skipped) {
  return Value::map({{"id", skipped.id.str()}, {"field", skipped.field}, {"reason", skipped.reason}});
}

Result<SkippedResource> decode_skipped(const Value& value) {
  FieldReader fields(value);
  SkippedResource skipped;
  skipped.id = fields.require("id").object("id", ResourceId{}, decode_id<ResourceId>);
  skipped.field = fields.text("field");
  skipped.reason = fields.text("reason");
  SPARK_CHECK(std::move(fields).check());
  return skipped;
}

Value encode_values(const std::map<ResourceId, Value>& values) {
  Value all = Value::map();
  for (const auto& [id, value] : values) all.set(id.str(), value);
  return all;
}

/// `resulting` is left out: it is about the node as it was, and of no use later.
Value encode_plan(const NodePlan& plan) {
  return Value::map({{"changes", encode_list(plan.changes, encode_change)},
                     {"steps", encode_list(plan.steps, [](const Step& step) { return sparkplan::encode(step); })},
                     {"blocked", encode_list(plan.blocked, encode_blocked)},
                     {"not_applicable", encode_list(plan.not_applicable, encode_skipped)},
                     {"kept_orphans", encode_list(plan.kept_orphans, encode_id)},
                     {"waiting", encode_list(plan.waiting, encode_id)},
                     {"after_steps", encode_values(plan.after_steps)},
                     {"managed_before", plan.managed_before}});
}

Result<NodePlan> decode_plan(const Value& value) {
  FieldReader fields(value);
  NodePlan plan;
  plan.changes = fields.require("changes").list<Change>("changes", decode_change);
  plan.steps = fields.require("steps").list<Step>("steps", decode_step);
  plan.blocked = fields.list<BlockedResource>("blocked", decode_blocked);
  plan.not_applicable = fields.list<SkippedResource>("not_applicable", decode_skipped);
  plan.kept_orphans = fields.list<ResourceId>("kept_orphans", decode_id<ResourceId>);
  plan.waiting = fields.list<ResourceId>("waiting", decode_id<ResourceId>);
  plan.after_steps = fields.map<ResourceId, Value>("after_steps", ResourceId::parse,
                                                   [](const Value& after) { return Result<Value>(after); });
  plan.managed_before = fields.integer("managed_before", plan.managed_before);
  SPARK_CHECK(std::move(fields).check());
  return plan;
}

Value encode_node(const NodeReport& node) {
  Value value = Value::map({{"name", node.name},
                            {"address", node.address},
                            {"status", to_string(node.status)},
                            {"membership", to_string(node.membership)},
                            {"plan", encode_plan(node.plan)},
                            {"lock_holder", node.lock_holder}});
  if (node.not_contacted) value.set("not_contacted", true);
  if (node.error) value.set("error", sparkplan::encode(*node.error));
  return value;
}

Result<NodeReport> decode_node(const Value& value) {
  FieldReader fields(value);
  NodeReport node;
  node.name = fields.require("name").text("name");
  node.address = fields.text("address");
  node.status = fields.require("status").object("status", node.status, decode_name<NodeStatus, NodeStatus::kReleased>);
  node.membership = fields.object("membership", node.membership, decode_name<Membership, Membership::kLeaving>);
  node.not_contacted = fields.boolean("not_contacted", false);
  node.plan = fields.require("plan").object("plan", NodePlan{}, decode_plan);
  node.lock_holder = fields.text("lock_holder");
  if (value.find("error") != nullptr) node.error = fields.object("error", Error{}, decode_error);
  SPARK_CHECK(std::move(fields).check());
  return node;
}

Value encode_note(const DiagnosticNote& note) {
  return Value::map({{"message", note.message}, {"where", encode(note.where)}});
}

Result<DiagnosticNote> decode_note(const Value& value) {
  FieldReader fields(value);
  DiagnosticNote note;
  note.message = fields.text("message");
  note.where = fields.object("where", SourceRange{}, decode_where);
  SPARK_CHECK(std::move(fields).check());
  return note;
}

Value encode_diagnostic(const Diagnostic& diagnostic) {
  return Value::map({{"severity", to_string(diagnostic.severity)},
                     {"code", diagnostic.code},
                     {"message", diagnostic.message},
                     {"hint", diagnostic.hint},
                     {"file", diagnostic.file},
                     {"node", diagnostic.node},
                     {"where", encode(diagnostic.where)},
                     {"notes", encode_list(diagnostic.notes, encode_note)}});
}

Result<Diagnostic> decode_diagnostic(const Value& value) {
  FieldReader fields(value);
  Diagnostic diagnostic;
  diagnostic.severity =
      fields.require("severity").object("severity", diagnostic.severity, decode_name<Severity, Severity::kNote>);
  diagnostic.code = fields.text("code");
  diagnostic.message = fields.text("message");
  diagnostic.hint = fields.text("hint");
  diagnostic.file = fields.text("file");
  diagnostic.node = fields.text("node");
  diagnostic.where = fields.object("where", SourceRange{}, decode_where);
  diagnostic.notes = fields.list<DiagnosticNote>("notes", decode_note);
  SPARK_CHECK(std::move(fields).check());
  return diagnostic;
}

}  // namespace

Value encode(const Report& report) {
  return Value::map({{"cluster", report.cluster},
                     {"file", report.file},
                     {"config_digest", report.config_digest},
                     {"partial", report.partial},
                     {"duration_s", report.duration.count()},
                     {"nodes", encode_list(report.nodes, encode_node)},
                     {"diagnostics", encode_list(report.diagnostics, encode_diagnostic)}});
}

Result<Report> decode_report(const Value& value) {
  FieldReader fields(value);
  Report report;
  report.command = "plan";
  report.cluster = fields.text("cluster");
  report.file = fields.text("file");
  report.config_digest = fields.text("config_digest");
  report.partial = fields.boolean("partial", report.partial);
  report.nodes = fields.require("nodes").list<NodeReport>("nodes", decode_node);
  report.diagnostics = fields.list<Diagnostic>("diagnostics", decode_diagnostic);
  SPARK_CHECK(std::move(fields).check());
  if (const auto* duration = value.find("duration_s"); duration != nullptr && duration->real() != nullptr)
    report.duration = std::chrono::duration<double>(*duration->real());
  return report;
}

}  // namespace sparkplan
