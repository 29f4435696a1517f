#include "engine/wire/history_messages.h"

#include "engine/core/ids.h"

namespace sparkplan {
namespace {

/// A node keeps 50; a newer version may keep more.
constexpr std::size_t kMostJournals = 256;

/// The printed id of a run has the form of one. So a node cannot put other text into the line.
void check_run(FieldVisitor& field, std::string_view name, const std::string& run) {
  field.check(name, !field.reading() || run.empty() || is_run_id(run), "expected the id of a run");
}

}  // namespace

void list_fields(FieldVisitor& field, JournaledArtifact& artifact) {
  field("type", artifact.type, kShortText);
  field("artifact", artifact.artifact, kRequired);
  field("outcome", artifact.outcome, kShortText);
  field("error", artifact.error, kMessageText.unless(artifact.error.empty()));
}

void list_fields(FieldVisitor& field, JournaledRun& run) {
  field("run", run.run, kRequired.cut_at(kLongestShortText));
  check_run(field, "run", run.run);
  field("time", run.time, kShortText);
  field("who", run.who, kShortText);
  field("operation", run.operation, kShortText);
  field("saved_plan", run.purpose.saved_plan, kShortText);
  field("undoes", run.purpose.undoes, kShortText);
  check_run(field, "undoes", run.purpose.undoes);
  field("outcome", run.outcome, kRequired);
  field("undone_by", run.undone_by, kShortText);
  check_run(field, "undone_by", run.undone_by);
  field("changes", run.changes);
  field("artifacts", run.artifacts, kOptional.at_most(kMostJournaledArtifacts));
  field("more_artifacts", run.more_artifacts);
}

void list_fields(FieldVisitor& field, DamagedJournal& damaged) {
  field("file", damaged.file, kRequired.cut_at(kLongestErrorMessage));
  field("error", damaged.error, kRequired);
}

void list_fields(FieldVisitor& field, HistoryReply& reply) {
  field("runs", reply.runs, kRequired.at_most(kMostJournals));
  field("damaged", reply.damaged, kOptional.at_most(kMostJournals));
}

void list_fields(FieldVisitor& field, HistoryRequest& request) { field("with_artifacts", request.with_artifacts); }

void list_fields(FieldVisitor& field, KeptArtifact& kept) {
  field("type", kept.type, kShortText);
  field("artifact", kept.artifact, kRequired);
  field("resources", kept.resources, kOptional.at_most(kMostResources));
  field("reason", kept.reason, kMessageText);
}

void list_fields(FieldVisitor& field, UndoReply& reply) {
  field("run", reply.run, kRequired.cut_at(kLongestShortText));
  check_run(field, "run", reply.run);
  field("time", reply.time, kShortText);
  field("who", reply.who, kShortText);
  field("operation", reply.operation, kShortText);
  field("steps", reply.steps, kRequired.at_most(kMostResources));
  field("kept", reply.kept, kOptional.at_most(kMostResources));
  field("managed_before", reply.managed_before, kOptional.at_most(kMostResources));
}

void list_fields(FieldVisitor& field, UndoRequest& request) { field("run", request.run); }

}  // namespace sparkplan
