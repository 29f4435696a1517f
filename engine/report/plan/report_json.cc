
#include "engine/core/keyed_digest.h"
#include "engine/report/plan/report.h"
#include "engine/report/text/error_json.h"

namespace sparkplan {
namespace {

/// For a list of any type, with a function that converts one item to a Value.
template <class Items, class ToValue>
Value list_of(const Items& items, ToValue to_value) {
  Value list{Value::List{}};
  for (const auto& item : items) list.push_back(to_value(item));
  return list;
}

/// Null without a place in the file: a removal has none.
Value source_of(const std::string& file, const SourceRange& where) {
  if (!where.known()) return {};
  return Value::map({{"file", file}, {"line", where.line}, {"column", where.column}});
}

/// `source` is the source of a secret in the field: neither its value nor its digest is shown.
Value to_value(const FieldChange& field, const std::string& source) {
  return Value::map({{"path", field.path},
                     {"before", without_secrets(field.before)},
                     {"after", without_secrets(field.after, source)}});
}

class NodeWriter {
 public:
  NodeWriter(const Report& report, const NodeReport& node) : report_(report), node_(node) {}

  Value write() const {
    Value value = Value::map({{"name", node_.name},
                              {"address", node_.address},
                              {"status", to_string(node_.status)},
                              {"membership", to_string(node_.membership)}});
    if (node_.error) value.set("error", to_json_value(*node_.error));
    const NodePlan& plan = node_.plan;
    value.set("changes", list_of(plan.changes, [&](const Change& change) { return change_value(change); }));
    value.set("blocked", list_of(plan.blocked, [&](const BlockedResource& blocked) {
                return Value::map({{"id", full_id(blocked.id)},
                                   {"error", to_json_value(blocked.error)},
                                   {"source", source_of(report_.file, blocked.where)}});
              }));
    value.set("not_applicable", list_of(plan.not_applicable, [&](const SkippedResource& skipped) {
                return Value::map({{"id", full_id(skipped.id)}, {"field", skipped.field}, {"reason", skipped.reason}});
              }));
    const auto id_value = [&](const ResourceId& id) { return Value(full_id(id)); };
    value.set("waiting", list_of(plan.waiting, id_value));
    value.set("kept_orphans", list_of(plan.kept_orphans, id_value));
    if (!node_.lock_holder.empty()) value.set("lock_holder", node_.lock_holder);
    return value;
  }

 private:
  std::string full_id(const ResourceId& id) const { return node_.name + "/" + id.str(); }

  Value change_value(const Change& change) const {
    Value value =
        Value::map({{"id", full_id(change.id)},
                    {"type", change.id.type},
                    {"name", change.id.name},
                    {"action", to_string(change.action)},
                    {"origin", to_string(change.origin)},
                    {"impact", to_string(change.impact)},
                    {"reversible", to_string(change.reversible)},
                    {"fields", list_of(change.fields, [&](const FieldChange& f) { return to_value(f, change.note); })},
                    {"source", source_of(report_.file, change.where)}});
    if (!change.note.empty()) value.set("note", change.note);
    // A foreign change has the same id as the change that apply carries out, but no outcome itself.
    const auto outcome = node_.outcomes.find(change.id);
    if (outcome != node_.outcomes.end() && change.origin != Origin::kForeign)
      value.set("outcome", to_string(outcome->second));
    return value;
  }

  const Report& report_;
  const NodeReport& node_;
};

Value summary_of(const Report& report) {
  int create = 0, update = 0, remove = 0, drifted = 0, foreign = 0, in_sync = 0, unreachable = 0;
  for (const NodeReport& node : report.nodes) {
    if (node.status == NodeStatus::kInSync) ++in_sync;
    if (node.status == NodeStatus::kUnreachable) ++unreachable;
    for (const Change& change : node.plan.changes) {
      if (change.origin == Origin::kForeign) {
        // Apply will not change it, so it counts as none of the three.
        if (!change.is_harmless()) ++foreign;
        continue;
      }
      if (change.origin == Origin::kDrift) ++drifted;
      if (change.action == Action::kCreate) ++create;
      if (change.action == Action::kUpdate) ++update;
      if (change.action == Action::kRemove) ++remove;
    }
  }
  return Value::map({{"create", create},
                     {"update", update},
                     {"remove", remove},
                     {"drifted", drifted},
                     {"foreign", foreign},
                     {"nodes", static_cast<std::int64_t>(report.nodes.size())},
                     {"nodes_in_sync", in_sync},
                     {"nodes_unreachable", unreachable}});
}

Value to_value(const Diagnostic& diagnostic) {
  Value value = Value::map({{"severity", to_string(diagnostic.severity)},
                            {"code", diagnostic.code},
                            {"message", diagnostic.message},
                            {"hint", diagnostic.hint},
                            {"file", diagnostic.file},
                            {"line", diagnostic.where.line},
                            {"column", diagnostic.where.column}});
  if (!diagnostic.node.empty()) value.set("node", diagnostic.node);
  if (!diagnostic.notes.empty()) {
    value.set(
        "notes", list_of(diagnostic.notes, [](const DiagnosticNote& note) {
          return Value::map({{"message", note.message}, {"line", note.where.line}, {"column", note.where.column}});
        }));
  }
  return value;
}

}  // namespace

Value to_json_value(const Report& report) {
  Value value =
      Value::map({{"format_version", "1.0"},
                  {"command", report.command},
                  {"cluster", report.cluster},
                  {"file", report.file},
                  {"config_digest", report.config_digest},
                  {"partial", report.partial},
                  {"interrupted", report.interrupted},
                  {"nodes", Value()},
                  {"summary", summary_of(report)},
                  {"diagnostics", list_of(report.diagnostics, [](const Diagnostic& d) { return to_value(d); })},
                  {"duration_s", report.duration.count()}});
  // Value::map() copies its parts. This one can have many megabytes.
  value.set("nodes", list_of(report.nodes, [&](const NodeReport& node) { return NodeWriter(report, node).write(); }));
  return value;
}

}  // namespace sparkplan
