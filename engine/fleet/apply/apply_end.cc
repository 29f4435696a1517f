// The end of an apply: releases, manifests, effects and the report.
#include <algorithm>
#include <set>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/text.h"
#include "engine/fleet/apply/apply_run.h"
#include "engine/fleet/planning/foresight.h"
#include "engine/fleet/planning/plan_lookup.h"
#include "engine/fleet/session/node_reply.h"
#include "engine/fleet/session/node_report.h"
#include "engine/fleet/session/selection.h"
#include "engine/plan/disputed_ids.h"

namespace sparkplan {
namespace {

bool same_resources(const std::map<ResourceId, ManagedResource>& a, const std::map<ResourceId, ManagedResource>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.last_applied == y.second.last_applied &&
           x.second.artifacts == y.second.artifacts;
  });
}

EffectRequest effect_request(const PlannedNode& planned, const Registry& registry) {
  EffectRequest request;
  const auto changes = changes_by_id(planned.plan);
  for (const auto& resource : planned.desired) {
    const auto* type = registry.find(resource.id.type);
    const bool settled = planned.plan.resulting.contains(resource.id) && !changes.contains(resource.id);
    if (type == nullptr || !type->info().checks_effect || !settled) continue;
    request.desired[resource.id.type].emplace(resource.id.name, resource.desired);
  }
  return request;
}

/// About the manifests as they are at the end of the run: a node may change its own between two stages.
void warn_of_disputed_ids(FleetSession& session) {
  Machines machines = session.machines();
  for (Diagnostic& warning : warnings_of(forget_disputed_ids(machines, session.rosters())))
    session.remark(std::move(warning));
}

}  // namespace

std::string ApplyRun::audit_line(const ApplyNode& applied, const std::string& operation) const {
  return "run=" + session_.run() + " cluster=" + session_.cluster().name + " node=" + applied.node.name() +
         " by=" + session_.holder().who + " " + operation + " changes=" + std::to_string(applied.shown.changes.size()) +
         " failed=" + std::to_string(applied.planned.outcomes.failures().size());
}

Roster ApplyRun::next_roster() const {
  if (planning_->rolls_back()) return session_.roster();
  std::set<std::string> released;
  std::set<std::string> consented;
  for (const auto& node : session_.nodes()) {
    if (node.released || node.forgotten) released.insert(node.name());
    if (node.leaving && !node.not_contacted && !node.skipped) consented.insert(node.name());
  }
  Machines machines = session_.machines();
  forget_disputed_ids(machines, session_.rosters());
  return sparkplan::next_roster(session_.roster_to_record(), session_.cluster(), machines, released, consented,
                                *new_cluster_id_);
}

Roster ApplyRun::roster_for(const FleetNode& node) const {
  // Only the file decides about membership, so a rollback keeps the node's roster.
  if (node.known.manifest && planning_->rolls_back()) return *node.roster;
  return roster_of_node(next_roster_, *node.roster, session_.cluster(), session_.single_witness());
}

/// A node on which something could not be undone keeps its manifest and its agent for the next try.
void ApplyRun::release_departing() {
  session_.on_each(nodes_, [&](ApplyNode& applied) {
    FleetNode& node = applied.node;
    const NodePlan& plan = applied.planned.plan;
    const bool all_undone = plan.steps.empty() && plan.blocked.empty() && applied.planned.outcomes.failures().empty();
    if (!node.leaving || !all_undone || applied.stopped) return;
    session_.show(node, "releasing");
    auto released = node.client->call(ReleaseRequest{audit_line(applied, "released"), options_.ignore_jobs});
    if (!released) return session_.give_up(node, std::move(released).error().within("release"));
    node.client.reset();  // This also ends its lock.
    node.released = true;
  });
}

void ApplyRun::commit(ApplyNode& applied) {
  FleetNode& node = applied.node;
  auto managed = planning_->managed_after(applied.planned);
  const auto roster = roster_for(node);
  const auto& before = node.known.manifest;
  const bool unchanged = before && !applied.planned.outcomes.wrote() && *node.roster == roster &&
                         same_resources(before->resources, managed);
  if (unchanged) return;
  const auto operation =
      planning_->rolls_back() ? "rolled_back=" + planning_->undone_run(applied.planned) : std::string("applied");
  // From here on `managed` has its content. Both may be megabytes.
  node.drop_managed();
  auto committed = node.client->commit({session_.run(), node.name(), roster, std::move(managed),
                                        audit_line(applied, operation), session_.accepted_uuid(node)});
  if (!committed) session_.give_up(node, std::move(committed).error().within("write the manifest"));
}

void ApplyRun::find_values_not_learned() {
  for (const ApplyNode& applied : nodes_) {
    const PlannedNode& planned = applied.planned;
    if (!applied.node.active()) continue;
    for (const Change& change : applied.shown.changes) {
      const Resource* resource = find_resource(planned.desired, change.id);
      if (resource == nullptr || !resource->known_part_first) continue;
      const auto kept = planned.kept_fields.find(change.id);
      for (const FieldChange& field : change.fields) {
        const Value* now = field.after.contains_unknown() ? resource->desired.find(field.path) : nullptr;
        const Value::Unknown* unknown = now == nullptr ? nullptr : now->unknown();
        const bool is_kept = kept != planned.kept_fields.end() && kept->second.contains(field.path);
        if (unknown == nullptr || !unknown->producer.empty() || is_kept) continue;
        not_learned_[change.id.words() + ": " + field.path + " stays as it is, because " + unknown->reason].insert(
            applied.node.name());
      }
    }
  }
}

void ApplyRun::warn_of_values_not_learned() {
  for (const auto& [what, nodes] : not_learned_) {
    session_.remark(finding(Severity::kWarning, "apply.not_learned",
                            what + ": on " + fold_names(std::vector<std::string>(nodes.begin(), nodes.end())),
                            "look at the node that has no value, then plan again"));
  }
}

void ApplyRun::commit_all() {
  next_roster_ = next_roster();
  warn_of_values_not_learned();
  if (!planning_->rolls_back()) warn_of_disputed_ids(session_);
  session_.on_each(nodes_, [&](ApplyNode& applied) { commit(applied); });
}

/// Warns about resources that are as planned and take no effect, whether this run changed them or not. Without an
/// answer, no node has failed: all changes are made and recorded.
void ApplyRun::find_ineffective() {
  constexpr QuestionWords kWords{"checking the effect", "done", "effect.unknown",
                                 "could not check which settings took effect"};
  std::vector<std::vector<Diagnostic>> found(nodes_.size());
  session_.on_each(planning_->nodes(), [&](PlannedNode& planned) {
    const auto request = effect_request(planned, session_.registry());
    if (request.desired.empty()) return;
    found[planned.node.place] = ask_for_warnings(session_, planned, request, kWords);
  });
  for (auto& warnings : found) {
    for (auto& warning : warnings) planning_->add_finding(std::move(warning));
  }
}

NodeReport ApplyRun::report_on(const ApplyNode& applied) const {
  const auto& [planned, node, shown, stopped] = applied;
  const TrialNode& trial = trial_->at(node);
  NodeReport report = planning_->report_on(planned);
  if (trial.rolled_back) report.status = NodeStatus::kRolledBack;
  report.may_have_changed = planned.outcomes.may_have_changed();
  report.undoes = planning_->undone_run(planned);
  report.plan.changes = shown.changes;
  report.plan.steps = shown.steps;
  // The new plan has no value for a change that is in sync by now, but the report still shows its fields.
  report.plan.after_steps = shown.after_steps;
  report.plan.waiting = planned.plan.waiting;
  report.plan.blocked = planned.plan.blocked;
  if (node.skipped || node.not_contacted || node.forgotten) return report;
  bool all_done = true;
  const LeftToDo left = left_to_do(planned.plan);
  for (const auto& change : shown.changes) {
    if (change.origin == Origin::kForeign) continue;
    const Outcome outcome = planned.outcomes.reported(change.id, left, node.error.has_value());
    report.outcomes[change.id] = outcome;
    all_done = all_done && outcome == Outcome::kDone;
  }
  if (!node.error) judge(report, applied, all_done);
  return report;
}

/// The nodes whose trials hold back those of the others.
std::vector<std::string> ApplyRun::failed_trials() const {
  std::vector<std::string> names;
  for (const ApplyNode& applied : nodes_) {
    const TrialNode& one = trial_->at(applied.node);
    const auto state = one.trial.state;
    if (one.rolled_back || state == Trial::State::kEnded || state == Trial::State::kLost)
      names.push_back(applied.node.name());
  }
  return names;
}

/// The status of a node that took part until the end.
void ApplyRun::judge(NodeReport& report, const ApplyNode& applied, bool all_done) const {
  const ChangeOutcomes& outcomes = applied.planned.outcomes;
  const auto fail = [&](Error error) {
    report.status = NodeStatus::kFailed;
    report.error = std::move(error);
  };
  if (const auto& deferred = trial_->at(applied.node).deferred) {
    fail(*deferred);
    const bool waits_for_others = deferred->code != ErrorCode::kBusy;
    if (waits_for_others && !session_.stop_requested())
      report.error->hint = way_without(session_.options().exclusion, failed_trials());
  } else if (outcomes.any_stale()) {
    const Error* why = outcomes.why_stale();
    fail(why != nullptr
             ? *why
             : Error{ErrorCode::kStalePlan, "it changed since the plan was made", {}, std::nullopt, "plan again"});
  } else if (!report.plan.blocked.empty() || !outcomes.failures().empty()) {
    report.status = NodeStatus::kFailed;
  } else if (!all_done && (applied.stopped || session_.stop_requested())) {
    fail({ErrorCode::kInterrupted, "stopped before all changes were made", {}, std::nullopt, "apply again"});
  } else if (!all_done && !not_begun_) {
    fail({ErrorCode::kFailed, "some planned changes were not made", {}, std::nullopt, "plan again"});
  } else if (applied.node.leaving && !applied.node.released) {
    fail({ErrorCode::kFailed, "it was not released", {}, std::nullopt, "apply again"});
  } else if (!applied.node.leaving && !report.outcomes.empty()) {
    report.status = NodeStatus::kApplied;
  }
}

Report ApplyRun::report() const {
  Report report =
      session_.report([&](const FleetNode& node) { return report_on(nodes_[node.place]); }, planning_->findings());
  if (!next_roster_.uuid.empty()) report.cluster_id = next_roster_.uuid;
  // One node's word would hide the run from a later rollback, whose nodes name another uuid.
  if (!session_.uuid_is_agreed()) report.cluster_id.clear();
  return report;
}

}  // namespace sparkplan
