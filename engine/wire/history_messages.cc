// What is asked and told of past runs, of undoing them, and of a lock to be broken.
#include "engine/wire/history_messages.h"

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/model/field_reader.h"

namespace sparkplan {
namespace {

// In the order of the enumerators.
constexpr std::array<std::string_view, 4> kRunOutcomes{"applied", "failed", "rolled_back", "broken_off"};

Result<RunOutcome> decode_run_outcome(const Value& value) {
  SPARK_TRY(const auto text, decode_text(value));
  const auto* const found = std::find(kRunOutcomes.begin(), kRunOutcomes.end(), text);
  if (found == kRunOutcomes.end())
    return failure(FieldReader::invalid("no such outcome of a run: \"" + shown_text(text) + "\""));
  return static_cast<RunOutcome>(found - kRunOutcomes.begin());
}

Value encode_artifact(const JournaledArtifact& artifact) {
  Value value =
      Value::map({{"type", artifact.type}, {"artifact", artifact.artifact.str()}, {"outcome", artifact.outcome}});
  if (!artifact.error.empty()) value.set("error", artifact.error);
  return value;
}

Result<JournaledArtifact> decode_artifact(const Value& value) {
  FieldReader fields(value);
  JournaledArtifact artifact;
  artifact.type = cut_text(fields.text("type"), kLongestShortText);
  artifact.artifact = fields.require("artifact").object("artifact", ArtifactId{}, decode_id<ArtifactId>);
  artifact.outcome = cut_text(fields.text("outcome"), kLongestShortText);
  artifact.error = cut_text(fields.text("error"), kLongestErrorMessage);
  SPARK_CHECK(std::move(fields).check());
  return artifact;
}

Value encode_run(const JournaledRun& run) {
  return Value::map({{"run", run.run},
                     {"time", run.time},
                     {"who", run.who},
                     {"operation", run.operation},
                     {"saved_plan", run.purpose.saved_plan},
                     {"undoes", run.purpose.undoes},
                     {"outcome", to_string(run.outcome)},
                     {"undone_by", run.undone_by},
                     {"changes", run.changes},
                     {"artifacts", encode_list(run.artifacts, encode_artifact)},
                     {"more_artifacts", run.more_artifacts}});
}

Result<JournaledRun> decode_run(const Value& value) {
  FieldReader fields(value);
  JournaledRun run;
  run.run = cut_text(fields.require("run").text("run"), kLongestShortText);
  run.time = cut_text(fields.text("time"), kLongestShortText);
  run.who = cut_text(fields.text("who"), kLongestShortText);
  run.operation = cut_text(fields.text("operation"), kLongestShortText);
  run.purpose = {cut_text(fields.text("saved_plan"), kLongestShortText),
                 cut_text(fields.text("undoes"), kLongestShortText)};
  run.outcome = fields.require("outcome").object("outcome", run.outcome, decode_run_outcome);
  run.undone_by = cut_text(fields.text("undone_by"), kLongestShortText);
  run.changes = fields.integer("changes", run.changes);
  run.artifacts = fields.list<JournaledArtifact>("artifacts", decode_artifact);
  if (run.artifacts.size() > kMostJournaledArtifacts) fields.reject("artifacts", "too many");
  run.more_artifacts = fields.boolean("more_artifacts", run.more_artifacts);
  SPARK_CHECK(std::move(fields).check());
  return run;
}

Result<DamagedJournal> decode_damaged(const Value& value) {
  FieldReader fields(value);
  DamagedJournal damaged;
  damaged.file = cut_text(fields.require("file").text("file"), kLongestErrorMessage);
  damaged.error = fields.require("error").object("error", Error{}, decode_error);
  SPARK_CHECK(std::move(fields).check());
  return damaged;
}

Result<KeptArtifact> decode_kept(const Value& value) {
  FieldReader fields(value);
  KeptArtifact kept;
  kept.type = cut_text(fields.text("type"), kLongestShortText);
  kept.artifact = fields.require("artifact").object("artifact", ArtifactId{}, decode_id<ArtifactId>);
  kept.resources = fields.list<ResourceId>("resources", decode_id<ResourceId>);
  kept.reason = cut_text(fields.text("reason"), kLongestErrorMessage);
  SPARK_CHECK(std::move(fields).check());
  return kept;
}

Result<std::optional<ManagedResource>> decode_managed_before(const Value& value) {
  if (value.is_null()) return std::optional<ManagedResource>();
  SPARK_TRY(auto managed, decode_managed_resource(value));
  return std::optional<ManagedResource>(std::move(managed));
}

}  // namespace

std::string_view to_string(RunOutcome outcome) { return kRunOutcomes.at(static_cast<std::size_t>(outcome)); }

Value encode_body(const HistoryRequest& request) {
  return Value::map({{"request", "history"}, {"with_artifacts", request.with_artifacts}});
}
Value encode_body(const UndoRequest& request) { return Value::map({{"request", "undo"}, {"run", request.run}}); }
Value encode_body(const BreakLockRequest& request) {
  return Value::map({{"request", "break_lock"}, {"holder", request.holder}, {"audit", request.audit}});
}

Value encode(const HistoryReply& reply) {
  const auto encode_damaged = [](const DamagedJournal& damaged) {
    return Value::map({{"file", damaged.file}, {"error", encode(damaged.error)}});
  };
  return Value::map(
      {{"runs", encode_list(reply.runs, encode_run)}, {"damaged", encode_list(reply.damaged, encode_damaged)}});
}

Result<HistoryReply> decode_history_reply(const Value& value) {
  FieldReader fields(value);
  HistoryReply reply;
  reply.runs = fields.require("runs").list<JournaledRun>("runs", decode_run);
  reply.damaged = fields.list<DamagedJournal>("damaged", decode_damaged);
  SPARK_CHECK(std::move(fields).check());
  return reply;
}

Value encode(const UndoReply& reply) {
  const auto encode_kept = [](const KeptArtifact& kept) {
    return Value::map({{"type", kept.type},
                       {"artifact", kept.artifact.str()},
                       {"resources", encode_list(kept.resources, encode_id)},
                       {"reason", kept.reason}});
  };
  Value managed = Value::map();
  for (const auto& [id, before] : reply.managed_before) managed.set(id.str(), before ? encode(*before) : Value());
  return Value::map({{"run", reply.run},
                     {"time", reply.time},
                     {"who", reply.who},
                     {"operation", reply.operation},
                     {"steps", encode_list(reply.steps, [](const Step& step) { return encode(step); })},
                     {"kept", encode_list(reply.kept, encode_kept)},
                     {"managed_before", std::move(managed)}});
}

Result<UndoReply> decode_undo_reply(const Value& value) {
  FieldReader fields(value);
  UndoReply reply;
  reply.run = cut_text(fields.require("run").text("run"), kLongestShortText);
  reply.time = cut_text(fields.text("time"), kLongestShortText);
  reply.who = cut_text(fields.text("who"), kLongestShortText);
  reply.operation = cut_text(fields.text("operation"), kLongestShortText);
  reply.steps = fields.require("steps").list<Step>("steps", decode_step);
  reply.kept = fields.list<KeptArtifact>("kept", decode_kept);
  reply.managed_before = fields.map<ResourceId, std::optional<ManagedResource>>("managed_before", ResourceId::parse,
                                                                                decode_managed_before);
  SPARK_CHECK(std::move(fields).check());
  return reply;
}

}  // namespace sparkplan
