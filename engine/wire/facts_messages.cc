#include "engine/wire/facts_messages.h"

namespace sparkplan {

void list_fields(FieldVisitor& field, FactsReply& reply) {
  field("facts", reply.facts, kRequired);
  field("manifest", reply.manifest);
  field("lock_holder", reply.lock_holder);
  field("transaction", reply.transaction);
  field("exports", reply.exports, kOptional.at_most(kMostTypes));
  field("export_errors", reply.export_errors, kOptional.at_most(kMostTypes));
  field("last_verify", reply.last_verify);
  field("observed", reply.observed, kOptional.unless(reply.observed.types.empty()));
}

void list_fields(FieldVisitor& field, FactsRequest& request) {
  field("exports", request.exports, kRequired.at_most(kMostTypes));
  field("set_damaged_aside", request.set_damaged_aside);
  field("observe_managed", request.observe_managed, kOptional.unless(!request.observe_managed));
  field("everything", request.everything, kOptional.unless(!request.everything));
}

void list_fields(FieldVisitor& field, ObserveNodeRequest& request) {
  field("names", request.names, kRequired.at_most(kMostResources));
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
