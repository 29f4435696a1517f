#include "engine/fleet/apply/apply_run.h"

#include <algorithm>
#include <utility>

#include "engine/core/tree.h"
#include "engine/fleet/planning/plan_lookup.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/fleet/planning/rollback_run.h"
#include "engine/fleet/planning/waves.h"
#include "engine/fleet/session/departing_node.h"
#include "engine/plan/planner.h"

namespace sparkplan {
namespace {

RunOptions with_consent(RunOptions run, const ApplyOptions& options) {
  run.contact_departing = options.allow_prune;
  return run;
}

SessionPurpose purpose_of(const ApplyOptions& options) {
  const bool rolls_back = options.rollback.has_value();
  return {!rolls_back, true, rolls_back || !options.release.empty(), options.release, options.forget};
}

std::unique_ptr<Planning> planning_for(FleetSession& session, const ApplyOptions& options) {
  if (options.rollback) return std::make_unique<RollbackRun>(session, *options.rollback, options.log);
  auto planning = std::make_unique<PlanRun>(session, options.allow_management_change, Foresight::kAsked);
  if (options.with_released != nullptr) planning->keep_to_release(*options.with_released);
  return planning;
}

/// Two unknown values differ, but a value that stays unknown is no new desired value.
bool same_desired(const Resource* a, const Resource* b) {
  return (a == nullptr && b == nullptr) || (a != nullptr && b != nullptr && a->desired == b->desired);
}

/// Replaces unknown fields by their values. Fields of earlier stages stay in the report.
void fill_in(Change& change, const Change& learned) {
  std::erase_if(change.fields, [](const FieldChange& field) { return field.after.contains_unknown(); });
  for (const FieldChange& field : learned.fields) {
    std::erase_if(change.fields, [&](const FieldChange& shown) { return shown.path == field.path; });
    change.fields.push_back(field);
  }
  std::sort(change.fields.begin(), change.fields.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  change.note = learned.note;
}

/// Completes waiting changes of the approved plan with the values of a later stage.
void fill_in(NodePlan& shown, const PlannedNode& planned) {
  const NodePlan& later = planned.plan;
  const auto later_changes = changes_by_id(later);
  for (auto& change : shown.changes) {
    const auto learned = later_changes.find(change.id);
    if (learned == later_changes.end() || change.origin == Origin::kForeign) continue;
    if (!contains(shown.waiting, change.id) || planned.outcomes.of(change.id).failure) continue;
    fill_in(change, *learned->second);
    const auto value = later.after_steps.find(change.id);
    if (value != later.after_steps.end()) shown.after_steps.insert_or_assign(value->first, value->second);
  }
}

/// The parts of the approved plan that report_on() needs. It takes all others from the newest plan.
NodePlan shown_part(const NodePlan& plan) {
  NodePlan shown;
  shown.changes = plan.changes;
  shown.steps = plan.steps;
  shown.after_steps = plan.after_steps;
  shown.waiting = plan.waiting;
  return shown;
}

/// The steps as their results are recorded. The states, which may be megabytes, are in the request only.
std::vector<Step> without_states(const std::vector<Step>& steps) {
  std::vector<Step> bare(steps.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    bare[i].artifact = steps[i].artifact;
    bare[i].resources = steps[i].resources;
  }
  return bare;
}

/// An apply records the host key and the machine-id of each member that it reaches.
bool was_never_reached(const RosterEntry& entry) {
  return entry.host_key.empty() && entry.machine_id.empty() && entry.root.empty();
}

/// For an error in place of a reply. The node sends one also if its steps are done and it cannot record them. False if
/// its journals show that the run has changed nothing there.
bool may_have_begun(const std::string& run, const Error& error, AgentClient& client) {
  if (error.code == ErrorCode::kUnreachable || error.code == ErrorCode::kInterrupted) return true;
  const auto history = client.call(HistoryRequest{false});
  if (!history || !history->damaged.empty()) return true;
  return std::ranges::any_of(history->runs, [&](const JournaledRun& one) { return one.run == run && one.changes > 0; });
}

}  // namespace

ApplyRun::ApplyRun(const Cluster& cluster, const Registry& registry, RunOptions run, const ApplyOptions& options)
    : options_(options),
      session_(cluster, registry, with_consent(std::move(run), options), purpose_of(options)),
      planning_(planning_for(session_, options)) {}

/// After the first plans: all their changes are approved, unless a saved plan allows fewer.
void ApplyRun::begin() {
  for (PlannedNode& planned : planning_->nodes()) {
    std::set<ResourceId> ids(planned.plan.waiting.begin(), planned.plan.waiting.end());
    for (const auto& change : planned.plan.changes) ids.insert(change.id);
    planned.outcomes.approve(ids);
  }
  if (options_.saved_plan != nullptr) {
    keep_to_saved_plan(*planning_, *options_.saved_plan,
                       options_.all_or_nothing ? FieldsOfOtherNodes::kRefuse : FieldsOfOtherNodes::kStay);
  }
  for (PlannedNode& planned : planning_->nodes()) {
    planned.node.lock_purpose = {options_.saved_plan == nullptr ? "" : options_.saved_plan->id,
                                 planning_->undone_run(planned)};
    nodes_.emplace_back(planned);
  }
  trial_.emplace(*planning_, nodes_,
                 TrialOptions{options_.window, options_.max_parallel,
                              [this](const FleetNode& node) { return roster_for(node); }, options_.ignore_jobs});
}

Report ApplyRun::run() {
  if (options_.released_entry) session_.add_leaving(*options_.released_entry);
  planning_->plan();
  begin();
  std::optional<Report> planned;
  if (options_.approve) planned = planning_->report();
  if (releases_nobody() || guards_refuse() || session_.stop_requested()) return report_not_begun();
  const bool work = std::any_of(nodes_.begin(), nodes_.end(),
                                [](const auto& one) { return one.planned.has_work() || one.node.forgotten; });
  if (work && options_.approve && !options_.approve(*planned)) return report_not_begun();
  planned.reset();  // A second copy of all plans, so that `shown` is not a third one.
  for (ApplyNode& one : nodes_) one.shown = shown_part(one.planned.plan);
  if (!session_.lock_all(options_.lock_timeout)) return report_not_begun();
  check_unchanged();
  if (options_.all_or_nothing) refuse_nodes_with_jobs();
  const bool any_stale = std::ranges::any_of(nodes_, [](const auto& one) { return one.planned.outcomes.any_stale(); });
  const bool stopped = options_.all_or_nothing && (session_.any_error() || any_stale);
  not_begun_ = stopped;
  if (!stopped) {
    carry_out_stages();
    // Before the manifests, which list the remaining members.
    release_departing();
    commit_all();
    find_ineffective();
  }
  session_.unlock_all();
  Report outcome = report();
  outcome.not_begun = stopped;
  return outcome;
}

Report ApplyRun::report_not_begun() const {
  Report report = planning_->report();
  report.not_begun = true;
  // The manifests still list it.
  for (NodeReport& node : report.nodes) {
    if (node.status == NodeStatus::kForgotten) node.status = NodeStatus::kPending;
  }
  return report;
}

/// A departed member is contacted and released only with consent. If consent was given in an earlier run and the member
/// did not answer then, the run continues on the other nodes.
bool ApplyRun::refuse_unasked_releases() {
  bool refused = false;
  for (auto& node : session_.nodes()) {
    if (!node.not_contacted || node.skipped) continue;
    if (node.departed->leaving) {
      session_.remark(node, Severity::kWarning, "release.pending",
                      node.name() + " was removed from the file and is not released yet: not contacted",
                      "run `sparkplan apply --yes-prune` to try again; " + std::string(kForgetHint));
      continue;
    }
    if (was_never_reached(*node.departed)) {
      node.error = make_error(ErrorCode::kRefused,
                              "it is no longer in " + session_.cluster().file + ", and no apply has ever reached it",
                              "to remove it from the cluster, run `sparkplan release " + node.name() + " --forget`");
      refused = true;
      continue;
    }
    node.error = Error{
        ErrorCode::kRefused,
        "it is no longer in " + session_.cluster().file + ": apply would restore it as it was before sparkplan",
        {},
        std::nullopt,
        "to permit this, pass --yes-prune; to leave it alone, put it back into the file with `maintenance: true`; " +
            std::string(kForgetHint)};
    refused = true;
  }
  return refused;
}

/// A node reports its own manifest, so only that node is refused.
void ApplyRun::refuse_unasked_prunes() {
  for (const auto& [planned, node, shown, stopped] : nodes_) {
    if (!node.active() || node.leaving || options_.allow_prune || !needs_prune_consent(planned.plan)) continue;
    session_.give_up(node, ErrorCode::kRefused, "this would remove most resources that sparkplan manages there",
                     "to permit this, pass --yes-prune");
  }
}

/// The user mistyped the name, or the nodes that know it could not be read: a run on the others alone was not meant.
bool ApplyRun::releases_nobody() const {
  const auto& nodes = session_.nodes();
  return !options_.release.empty() &&
         std::ranges::none_of(nodes, [&](const FleetNode& node) { return node.name() == options_.release; });
}

bool ApplyRun::guards_refuse() {
  if (!new_cluster_id_) {
    for (FleetNode& node : session_.nodes()) {
      if (node.active()) session_.give_up(node, new_cluster_id_.error());
    }
    return true;
  }
  const bool releases = refuse_unasked_releases();
  refuse_unasked_prunes();
  if (releases) return true;
  if (!options_.all_or_nothing) return false;
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const ApplyNode& one) { return one.node.error || !one.planned.plan.blocked.empty(); });
}

void ApplyRun::refuse_nodes_with_jobs() {
  for (const ApplyNode& one : nodes_) {
    if (one.node.active() && is_held_by_job(one.node) && is_disruptive(one.planned.plan))
      session_.give_up(one.node, busy_with(one.node.known.jobs));
  }
}

/// The plans were made before the locks, so another run may have changed a node since.
void ApplyRun::check_unchanged() {
  session_.on_each(session_.nodes(), [&](FleetNode& node) {
    const auto last_run = node.known.manifest ? node.known.manifest->last_run : "";
    node.drop_managed();
    auto known = node.client->call(session_.second_request(node));
    if (!known) return session_.give_up(node, std::move(known).error());
    const bool changed = (known->manifest ? known->manifest->last_run : "") != last_run;
    auto learned = session_.learn(node, *std::move(known));
    if (!learned) return session_.give_up(node, std::move(learned).error());
    if (!changed) return;
    session_.give_up(node, ErrorCode::kStalePlan, "another run has changed it since the plan was made", "plan again");
  });
  planning_->check_others_unchanged();
}

void ApplyRun::carry_out(ApplyNode& node) {
  if (session_.stop_requested()) {
    node.stopped = true;
    return;
  }
  const bool held = is_held_by_job(node.node) && is_disruptive(node.planned.plan);
  // The steps are moved, because one node can have many megabytes of them. The stage ends with a new plan.
  std::vector<Step> steps = std::exchange(node.planned.plan.steps, {});
  if (!trial_->is_needed(node.node) && !held) {
    trial_->add(node.node, {});
    return send_steps(node, std::move(steps), std::exchange(node.planned.plan.after_steps, {}));
  }
  auto split = split_steps(std::move(steps), {});
  if (held) split.disruptive.clear();
  trial_->add(node.node, std::move(split.disruptive));
  if (held) trial_->refuse(node.node, busy_with(node.node.known.jobs));
  if (!split.safe.empty()) send_steps(node, std::move(split.safe), node.planned.plan.after_steps);
}

void ApplyRun::send_steps(ApplyNode& applied, std::vector<Step> steps, std::map<ResourceId, Value> after_steps) {
  FleetNode& node = applied.node;
  const auto count = steps.size();
  session_.show(node, "applying " + std::to_string(count) + (count == 1 ? " step" : " steps"));
  applied.planned.outcomes.send(steps);
  const std::vector<Step> sent = without_states(steps);
  auto secrets = secrets_of(node, steps);
  auto reply =
      node.client->apply({session_.run(), node.name(), roster_for(node), std::move(steps), std::move(after_steps), 0,
                          std::move(secrets), options_.ignore_jobs, session_.accepted_uuid(node)});
  if (!reply) {
    if (!may_have_begun(session_.run(), reply.error(), *node.client)) applied.planned.outcomes.settle_sent();
    return session_.give_up(node, std::move(reply).error());
  }
  applied.receive(sent, *reply);
  session_.show(node, "applied", Activity::kWaiting);
}

/// An exit status proves nothing: the node has to show each finished change, unless another value is desired by now.
void ApplyRun::fail_invisible_changes(PlannedNode& planned, const std::vector<Resource>& before) {
  const auto changes = changes_by_id(planned.plan);
  for (const auto& [id, change] : planned.outcomes.all()) {
    if (!change.carried_out) continue;
    const bool still_desired = same_desired(find_resource(before, id), find_resource(planned.desired, id));
    const bool waits = contains(planned.plan.waiting, id);
    if (!changes.contains(id) || waits || !still_desired) continue;
    planned.outcomes.fail(
        id, Error{ErrorCode::kVerifyFailed, "it was applied, but the node still differs", {}, std::nullopt, ""});
  }
}

/// A value travels only to the node whose steps write it.
std::vector<SecretValue> ApplyRun::secrets_of(const FleetNode& node, const std::vector<Step>& steps) const {
  const auto& secrets = session_.options().secrets;
  if (!secrets) return {};
  for (const auto& [type, exported] : node.known.exports) {
    if (const auto key = text_below(exported, kSecretKeyExport)) return secrets->values_for(steps, *node.spec, *key);
  }
  return {};
}

/// Without a saved plan: what the user was shown and approved, with the values of earlier stages.
ShownPlans ApplyRun::shown_plans() const {
  if (options_.saved_plan != nullptr) return plans_in(*options_.saved_plan);
  return [this](const FleetNode& node) { return &nodes_[node.place].shown; };
}

/// One round of steps on all nodes, and new plans. True if a further stage may achieve more.
bool ApplyRun::carry_out_stage() {
  std::vector<std::pair<std::vector<Resource>, std::size_t>> before;
  for (const auto& planned : planning_->nodes()) before.emplace_back(planned.desired, planned.outcomes.progress());
  next_roster_ = next_roster();
  session_.on_each(nodes_, [&](ApplyNode& node) {
    if (!node.planned.plan.steps.empty() && !node.stopped) carry_out(node);
  });
  trial_->carry_out();
  session_.refresh();
  planning_->observe_again();
  planning_->make_plans();
  const ShownPlans shown = shown_plans();
  if (!options_.all_or_nothing) keep_fields_not_shown(*planning_, shown);
  bool progress = false;
  for (auto& applied : nodes_) {
    if (!applied.node.active()) continue;
    const auto& [desired, progress_before] = before[applied.node.place];
    fail_invisible_changes(applied.planned, desired);
    progress = progress || applied.planned.outcomes.progress() != progress_before;
  }
  refuse_changes_not_shown(*planning_, shown,
                           options_.saved_plan != nullptr ? "make a new plan: sparkplan plan -o PLAN" : "plan again");
  find_values_not_learned();
  // Not before: the new values have to be compared with those that were approved.
  for (auto& applied : nodes_) {
    if (applied.node.active()) fill_in(applied.shown, applied.planned);
  }
  planning_->make_plans();
  for (auto& planned : planning_->nodes()) planned.keep_to_approved();
  return progress;
}

void ApplyRun::carry_out_stages() {
  std::vector<const NodePlan*> plans;
  for (const PlannedNode& planned : planning_->nodes()) plans.push_back(&planned.plan);
  auto stages_left = most_stages(plans);
  bool progress = true;
  while (progress && stages_left-- > 0 && !session_.stop_requested()) {
    const bool work_left = std::any_of(nodes_.begin(), nodes_.end(), [](const ApplyNode& one) {
      return one.node.active() && !one.planned.plan.steps.empty() && !one.stopped;
    });
    if (!work_left) return;
    progress = carry_out_stage();
  }
}

}  // namespace sparkplan
