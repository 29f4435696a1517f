#include "engine/wire/facts_messages.h"

#include "engine/core/digest.h"
#include "engine/core/json.h"

namespace sparkplan {

std::string digest_of(const Roster& roster) { return sha256(encode_json(encode(roster))); }

void list_fields(FieldVisitor& field, FactsReply& reply) {
  field("facts", reply.facts, kRequired);
  field("manifest", reply.manifest);
  field("lock_holder", reply.lock_holder);
  field("transaction", reply.transaction);
  field("exports", reply.exports, kOptional.at_most(kMostTypes));
  field("export_errors", reply.export_errors, kOptional.at_most(kMostTypes));
  field("last_verify", reply.last_verify);
  field("known_roster", reply.known_roster, kOptional.no_longer_than(kDigestLength).unless(reply.known_roster.empty()));
  field("jobs", reply.jobs, kOptional.unless(reply.jobs.empty()).first(kMostRunningJobs));
  field("observed", reply.observed, kOptional.unless(reply.observed.types.empty()));
}

void list_fields(FieldVisitor& field, FactsRequest& request) {
  field("exports", request.exports, kRequired.at_most(kMostTypes));
  field("set_damaged_aside", request.set_damaged_aside);
  field("observe_managed", request.observe_managed, kOptional.unless(!request.observe_managed));
  field("everything", request.everything, kOptional.unless(!request.everything));
  field("known_rosters", request.known_rosters,
        kOptional.no_longer_than(kDigestLength).unless(request.known_rosters.empty()).at_most(kMostOfferedRosters));
  field("patience_ms", request.patience_ms,
        kOptional.within(0, kLongestAgentPatienceMs).unless(request.patience_ms == 0));
}

void list_fields(FieldVisitor& field, ObserveNodeRequest& request) {
  field("names", request.names, kRequired.at_most(kMostResources));
  field("secret", request.secret, kOptional.unless(request.secret.empty()).at_most(kMostResources));
}

void list_fields(FieldVisitor& field, EffectReply& reply) {
  field("ineffective", reply.ineffective, kRequired.at_most(kMostResources));
}

void list_fields(FieldVisitor& field, EffectRequest& request) {
  field("desired", request.desired, kRequired.at_most(kMostResources));
}

void list_fields(FieldVisitor& field, ForesightRequest& request) {
  field("ahead", request.ahead, kRequired.at_most(kMostResources));
}

}  // namespace sparkplan
