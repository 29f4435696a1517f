// A report without loss: to_json_value() contains only the parts for other programs, this encoding can be decoded
// completely.
#include <span>

#include "engine/plan/saved_plan.h"

namespace sparkplan {
void list_fields(FieldVisitor& field, SourceRange& where) {
  field("line", where.line);
  field("column", where.column);
  field("end_column", where.end_column);
}

void list_fields(FieldVisitor& field, FieldChange& change) {
  field("path", change.path, kPlanText);
  field("before", change.before);
  field("after", change.after);
}

void list_fields(FieldVisitor& field, Change& change) {
  field("id", change.id, kRequired);
  field("action", change.action, kRequired);
  field("origin", change.origin, kRequired);
  field("fields", change.fields, kPlanList);
  field("impact", change.impact);
  field("reversible", change.reversible);
  field("where", change.where);
  field("note", change.note, kPlanText);
}

void list_fields(FieldVisitor& field, BlockedResource& blocked) {
  field("id", blocked.id, kRequired);
  field("error", blocked.error, kRequired);
  field("where", blocked.where);
}

void list_fields(FieldVisitor& field, SkippedResource& skipped) {
  field("id", skipped.id, kRequired);
  field("field", skipped.field, kPlanText);
  field("reason", skipped.reason, kPlanText);
}

/// Without `resulting`: it describes the earlier state of the node, and a later run does not need it.
void list_fields(FieldVisitor& field, NodePlan& plan) {
  field("changes", plan.changes, kRequiredPlanList);
  field("steps", plan.steps, kRequiredPlanList);
  field("blocked", plan.blocked, kPlanList);
  field("not_applicable", plan.not_applicable, kPlanList);
  field("kept_orphans", plan.kept_orphans, kPlanList);
  field("waiting", plan.waiting, kPlanList);
  field("after_steps", plan.after_steps, kPlanList);
  field("managed_before", plan.managed_before);
}

void list_fields(FieldVisitor& field, NodeReport& node) {
  field("name", node.name, kRequired);
  field("address", node.address);
  // A plan forgets no node.
  const auto statuses = names_of(node.status);
  auto status = static_cast<std::size_t>(node.status);
  field.choice("status", status, std::span(statuses).first(static_cast<std::size_t>(NodeStatus::kForgotten)),
               kRequired);
  if (field.reading()) node.status = static_cast<NodeStatus>(status);
  field("membership", node.membership);
  field("plan", node.plan, kRequired);
  field("lock_holder", node.lock_holder);
  field("not_contacted", node.not_contacted, kOptional.unless(!node.not_contacted));
  field("error", node.error);
}

void list_fields(FieldVisitor& field, DiagnosticNote& note) {
  field("message", note.message, kPlanText);
  field("where", note.where);
}

void list_fields(FieldVisitor& field, Diagnostic& diagnostic) {
  field("severity", diagnostic.severity, kRequired);
  field("code", diagnostic.code);
  field("message", diagnostic.message, kPlanText);
  field("hint", diagnostic.hint, kPlanText);
  field("file", diagnostic.file, kPlanText);
  field("node", diagnostic.node);
  field("where", diagnostic.where);
  field("notes", diagnostic.notes, kPlanList);
}

void list_fields(FieldVisitor& field, Report& report) {
  if (field.reading()) report.command = "plan";
  field("cluster", report.cluster);
  field("file", report.file);
  field("config_digest", report.config_digest);
  field("partial", report.partial);
  double seconds = report.duration.count();
  field("duration_s", seconds);
  if (field.reading()) report.duration = std::chrono::duration<double>(seconds);
  field("nodes", report.nodes, kRequiredPlanList);
  field("diagnostics", report.diagnostics, kPlanList);
}

}  // namespace sparkplan
