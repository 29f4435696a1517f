#include "engine/wire/apply_messages.h"

namespace sparkplan {

std::string LockHolder::describe() const {
  return who + " (process " + std::to_string(pid) + ", " + operation + " since " + since + ")";
}

void list_fields(FieldVisitor& field, LockHolder& holder) {
  field("who", holder.who, kShortText);
  field("pid", holder.pid);
  field("operation", holder.operation, kShortText);
  field("since", holder.since, kShortText);
}

void list_fields(FieldVisitor& field, LockRequest& request) {
  field("holder", request.holder, kRequired);
  field("saved_plan", request.purpose.saved_plan);
  field("undoes", request.purpose.undoes);
}

void list_fields(FieldVisitor& field, BreakLockRequest& request) {
  field("holder", request.holder);
  field("audit", request.audit, kMessageText);
}

void list_fields(FieldVisitor& field, StepResult& result) {
  field("artifact", result.artifact, kRequired);
  field("outcome", result.outcome, kRequired);
  field("error", result.error);
}

void list_fields(FieldVisitor& field, ApplyReply& reply) {
  field("results", reply.results, kRequired.at_most(kMostResources));
  field("stopped", reply.stopped);
  field("not_restored", reply.not_restored, kOptional.cut_at(kLongestNotRestored).at_most(kMostNotRestored));
}

void list_fields(FieldVisitor& field, SecretValue& secret) {
  field("token", secret.token, kRequired);
  field.base64("value", secret.value, kRequired.no_longer_than(kMostSecretBytes / 3 * 4 + 8));
}

void list_fields(FieldVisitor& field, ApplyRequest& request) {
  constexpr std::int64_t kLongestWindow = 3600;
  field("run", request.run);
  field("node", request.node);
  field("roster", request.roster, kRequired);
  field("steps", request.steps, kRequired.at_most(kMostResources));
  field("after_steps", request.after_steps, kRequired.at_most(kMostResources));
  field("window_seconds", request.window_seconds, kOptional.within(0, kLongestWindow));
  field("secrets", request.secrets, kOptional.unless(request.secrets.empty()).at_most(kMostSecrets));
  field("ignore_jobs", request.ignore_jobs, kOptional.unless(!request.ignore_jobs));
  field("accepted_uuid", request.accepted_uuid,
        kOptional.no_longer_than(kLongestRosterText).unless(request.accepted_uuid.empty()));
}

void list_fields(FieldVisitor& field, CommitRequest& request) {
  field("run", request.run);
  field("node", request.node);
  field("roster", request.roster, kRequired);
  field("resources", request.resources, kRequired.at_most(kMostResources));
  field("audit", request.audit, kMessageText);
  field("accepted_uuid", request.accepted_uuid,
        kOptional.no_longer_than(kLongestRosterText).unless(request.accepted_uuid.empty()));
}

void list_fields(FieldVisitor& field, ReleaseRequest& request) {
  field("audit", request.audit, kMessageText);
  field("ignore_jobs", request.ignore_jobs, kOptional.unless(!request.ignore_jobs));
}

}  // namespace sparkplan
