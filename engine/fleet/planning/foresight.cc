#include "engine/fleet/planning/foresight.h"

#include <set>
#include <string>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/fleet/planning/plan_lookup.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/fleet/session/node_reply.h"

namespace sparkplan {

ForesightRequest foresight_request(const PlannedNode& planned, const Registry& registry) {
  std::set<ResourceId> made;
  for (const Change& change : planned.plan.changes) {
    if (change.origin != Origin::kForeign && change.action != Action::kRemove) made.insert(change.id);
  }
  for (const ResourceId& id : planned.plan.waiting) made.erase(id);
  ForesightRequest request;
  bool can_be_answered = false;
  for (const Resource& resource : planned.desired) {
    const ResourceType* type = registry.find(resource.id.type);
    if (!made.contains(resource.id) || type == nullptr) continue;
    const bool foresees = type->info().foresees;
    request.ahead[resource.id.type].emplace(resource.id.name, foresees ? resource.desired : Value());
    can_be_answered = can_be_answered || foresees;
  }
  if (!can_be_answered) request.ahead.clear();
  return request;
}

std::vector<Diagnostic> warnings_of(CheckedFindings&& reply, const PlannedNode& planned, const std::string& file) {
  std::vector<Diagnostic> warnings;
  if (reply.left_out > 0) {
    warnings.push_back(finding(Severity::kWarning, std::string(kMoreFindings),
                               "further findings of this node are left out: " + std::to_string(reply.left_out)));
    warnings.back().node = planned.node.name();
  }
  const auto add = [&](Diagnostic warning, const ResourceId& about) {
    warning.node = planned.node.name();
    if (const auto* resource = find_resource(planned.desired, about)) {
      warning.file = file;
      warning.where = resource->where;
    }
    warnings.push_back(std::move(warning));
  };
  for (auto& [type, list] : reply.ineffective) {
    for (auto& one : list) {
      add(finding(Severity::kWarning, std::move(one.code), std::move(one.message), std::move(one.hint)),
          {type, one.name});
    }
  }
  return warnings;
}

/// An agent of an earlier version does not know the question and is not asked.
void PlanRun::foresee() {
  constexpr QuestionWords kWords{"checking the changes", "checked", "foresight.unknown",
                                 "could not check whether the changes can be made"};
  std::vector<std::vector<Diagnostic>> found(nodes_.size());
  session_.on_each(nodes_, [&](PlannedNode& planned) {
    const FleetNode& node = planned.node;
    const ForesightRequest request = foresight_request(planned, session_.registry());
    if (request.ahead.empty() || node.client->hello().protocol_minor < kMinorOfForesight) return;
    found[node.place] = ask_for_warnings(session_, planned, request, kWords);
  });
  for (auto& warnings : found) {
    for (auto& warning : warnings) {
      if (warning.where.known()) about_one_change_.push_back(warning);
      add_finding(std::move(warning));
    }
  }
}

}  // namespace sparkplan
