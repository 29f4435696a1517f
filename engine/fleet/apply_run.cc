// ClusterRun::apply(): approval, locks, stages.
#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

#include "engine/core/finding.h"
#include "engine/fleet/cluster_run.h"
#include "engine/fleet/fan_out.h"
#include "engine/fleet/interruptible_pause.h"
#include "engine/fleet/node_reply.h"
#include "engine/fleet/plan_lookup.h"
#include "engine/fleet/run_identity.h"
#include "engine/fleet/waves.h"
#include "engine/plan/planner.h"
#include "engine/plan/roster.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

/// Two unknown values are not the same, but an unknown that is still unknown is no new wish.
bool same_wish(const Resource* a, const Resource* b) {
  return (a == nullptr && b == nullptr) || (a != nullptr && b != nullptr && a->desired == b->desired);
}

/// What was not known yet is told as it came; what a stage before has carried out stays in the report.
void fill_in(Change& change, const Change& learned) {
  std::erase_if(change.fields, [](const FieldChange& field) { return field.after.contains_unknown(); });
  for (const FieldChange& field : learned.fields) {
    std::erase_if(change.fields, [&](const FieldChange& shown) { return shown.path == field.path; });
    change.fields.push_back(field);
  }
  std::sort(change.fields.begin(), change.fields.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  change.note = learned.note;
}

/// What a later stage has learned of a change that waited completes what the approved plan showed.
void add_what_was_learned(NodePlan& shown, const NodePlan& later) {
  for (auto& change : shown.changes) {
    const auto* learned = find_change(later, change.id);
    if (learned == nullptr || change.origin == Origin::kForeign || !contains(shown.waiting, change.id)) continue;
    fill_in(change, *learned);
    const auto value = later.after_steps.find(change.id);
    if (value != later.after_steps.end()) shown.after_steps.insert_or_assign(value->first, value->second);
  }
}

}  // namespace

Report ClusterRun::apply(const ApplyOptions& options) {
  only_release_ = options.release;
  options_.contact_departing = options.allow_prune;
  writes_ = true;
  allow_management_change_ = options.allow_management_change;
  window_ = options.window;
  max_parallel_ = options.max_parallel;
  holder_ = this_controller(options_.command);
  if (options.released_entry) add_leaving(*options.released_entry);
  saved_plan_ = options.saved_plan == nullptr ? "" : options.saved_plan->id;
  held_plan_ = options.saved_plan;
  Report planned = options.rollback ? plan_rollback(*options.rollback) : plan();
  for (auto& node : nodes_) {
    node.shown = node.plan;
    for (const auto& change : node.plan.changes) node.approved.insert(change.id);
    node.approved.insert(node.plan.waiting.begin(), node.plan.waiting.end());
  }
  if (options.saved_plan != nullptr) {
    keep_to_saved_plan(*options.saved_plan);
    for (auto& node : nodes_) node.shown = node.plan;
    planned = report();
  }
  // What a node's facts show to be wrong has taken its own resources out of the plan, and no others.
  if (guards_refuse(options) || options_.stop.stop_requested()) return report_not_begun();
  const bool changes = std::any_of(nodes_.begin(), nodes_.end(), [&](const NodeRun& node) {
    return active(node) && (node.leaving || !node.plan.steps.empty());
  });
  if (changes && options.approve && !options.approve(planned)) return report_not_begun();
  if (!lock_all(options.lock_timeout)) return report_not_begun();
  check_unchanged_since_planning();
  const bool somebody_fell_out =
      std::any_of(nodes_.begin(), nodes_.end(), [](const NodeRun& node) { return node.error.has_value(); });
  if (!options.all_or_nothing || !somebody_fell_out) {
    carry_out_stages();
    // Before the manifests: only then is it known who still is a member.
    release_departing();
    commit_all();
    check_effects();
  }
  unlock_all();
  return apply_report();
}

Report ClusterRun::report_not_begun() const {
  Report report = this->report();
  report.not_begun = true;
  return report;
}

/// A member is contacted and given back only in a run with consent. Where there was consent before and the member did
/// not answer, the others go on without it.
bool ClusterRun::refuse_unasked_releases() {
  bool refused = false;
  for (auto& node : nodes_) {
    const auto& name = node.spec->name.str();
    if (!node.not_contacted || node.skipped) continue;
    if (node.departed->leaving) {
      auto reminder = finding(Severity::kWarning, "release.pending",
                              name + " has left the file and is still to be given back: not contacted",
                              "`sparkplan apply --yes-prune` tries again");
      reminder.node = name;
      remarks_.push_back(std::move(reminder));
      continue;
    }
    node.error = Error{ErrorCode::kRefused,
                       "it is no longer in " + cluster_.file + ": it would be given back as it was before sparkplan",
                       {},
                       std::nullopt,
                       "if that is what you want, say so with --yes-prune; else put it back, with `maintenance: true` "
                       "to leave it alone"};
    refused = true;
  }
  return refused;
}

/// What a node's manifest lists is the node's claim: only that node is refused.
void ClusterRun::refuse_unasked_prunes(const ApplyOptions& options) {
  for (auto& node : nodes_) {
    if (!active(node) || node.leaving || options.allow_prune || !needs_prune_consent(node.plan)) continue;
    give_up(node, Error{ErrorCode::kRefused,
                        "most of what sparkplan manages there would be removed",
                        {},
                        std::nullopt,
                        "if that is what you want, say so with --yes-prune"});
  }
}

bool ClusterRun::guards_refuse(const ApplyOptions& options) {
  const bool releases = refuse_unasked_releases();
  refuse_unasked_prunes(options);
  if (releases) return true;
  if (!options.all_or_nothing) return false;
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const NodeRun& node) { return node.error || !node.plan.blocked.empty(); });
}

bool ClusterRun::lock_all(std::chrono::milliseconds timeout) {
  const auto end = Clock::now() + timeout;
  auto pause = std::chrono::milliseconds(100);
  std::set<std::string> told;
  while (true) {
    std::vector<std::optional<Error>> misses(nodes_.size());
    on_each([&](NodeRun& node) {
      auto locked = node.client->lock(holder_, purpose_of(node));
      if (locked) return;
      // Nobody else waits for a node that leaves: one that is always locked keeps the others from nothing.
      if (locked.error().code != ErrorCode::kBusy || node.leaving) return give_up(node, std::move(locked).error());
      misses[static_cast<std::size_t>(&node - nodes_.data())] = std::move(locked).error();
    });
    const bool missed = std::any_of(misses.begin(), misses.end(), [](const auto& miss) { return miss.has_value(); });
    if (!missed) {
      locked_ = true;
      return true;
    }
    // Two controllers that each wait with half of the locks in hand would wait for ever.
    unlock_all();
    if (Clock::now() + pause >= end || options_.stop.stop_requested()) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (!misses[i]) continue;
        std::string& hint = misses[i]->hint;
        hint +=
            (hint.empty() ? "" : "; ") + std::string("to go on without it: --exclude ") + nodes_[i].spec->name.str();
        nodes_[i].error = std::move(misses[i]);
      }
      return false;
    }
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (misses[i] && told.insert(nodes_[i].spec->name.str()).second) tell(nodes_[i], misses[i]->describe());
    }
    pause_unless_stopped(pause, options_.stop);  // The next round sees a stop.
    pause = std::min(pause * 2, std::chrono::milliseconds(2000));
  }
}

void ClusterRun::unlock_all() {
  on_each([&](NodeRun& node) {
    if (auto unlocked = node.client->unlock(); !unlocked) give_up(node, std::move(unlocked).error());
  });
}

void ClusterRun::note_results(NodeRun& node, const ApplyReply& reply, const std::vector<Step>& steps) {
  node.stopped = node.stopped || reply.stopped;
  std::set<ResourceId> unfinished;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& result = reply.results[i];
    const auto& ids = steps[i].resources;
    if (result.outcome != StepOutcome::kDone) unfinished.insert(ids.begin(), ids.end());
    if (result.outcome == StepOutcome::kStale) node.stale = true;
    for (const auto& id : ids) {
      if (result.outcome == StepOutcome::kDone) node.artifacts[id].insert(steps[i].artifact);
      if (result.error) node.failures.emplace(id, *result.error);
    }
    node.wrote = node.wrote || result.outcome == StepOutcome::kDone;
  }
  for (const auto& step : steps) {
    for (const auto& id : step.resources) {
      if (unfinished.count(id) == 0) node.done.insert(id);
    }
  }
}

void ClusterRun::carry_out(NodeRun& node) {
  if (options_.stop.stop_requested()) {
    node.stopped = true;
    return;
  }
  auto steps = node.plan.steps;
  node.trial = TrialRun();
  // A directory has nothing that could be cut.
  if (window_.count() > 0 && node.known.facts.live) {
    auto split = split_steps(steps, {});
    steps = std::move(split.safe);
    node.trial.steps = std::move(split.disruptive);
  }
  const auto count = steps.size();
  if (count == 0) return;
  tell(node, "applying " + std::to_string(count) + (count == 1 ? " step" : " steps"));
  for (const auto& step : steps) node.in_flight.insert(step.resources.begin(), step.resources.end());
  auto reply = node.client->apply(
      {run_, node.spec->name.str(), new_roster_of(node, new_roster()), steps, node.plan.after_steps});
  if (!reply) return give_up(node, std::move(reply).error());
  node.in_flight.clear();
  note_results(node, *reply, steps);
  tell(node, "applied", Activity::kWaiting);
}

/// A later stage carries out what was shown and approved, whatever else it finds.
void ClusterRun::keep_to_approved(NodeRun& node) const {
  std::erase_if(node.plan.steps, [&](const Step& step) {
    return std::any_of(step.resources.begin(), step.resources.end(),
                       [&](const ResourceId& id) { return node.approved.count(id) == 0; });
  });
}

/// Reads everything again that a stage may have changed, exports included.
void ClusterRun::observe_again() {
  on_each([&](NodeRun& node) {
    auto request = facts_request(node);
    request.observe_managed = !rolls_back_;
    auto known = node.client->refresh_facts(request);
    if (known) known = checked(std::move(*known), request, registry_);
    if (!known) return give_up(node, std::move(known).error());
    node.known = std::move(*known);
  });
  if (rolls_back_) return ask_what_undoes();
  compile();
  observe();
}

/// One round of steps everywhere, and another look. True if there is reason for a further one.
bool ClusterRun::carry_out_stage() {
  struct Before {
    std::vector<Resource> desired;
    std::size_t done = 0;
    std::size_t failures = 0;
  };
  std::vector<Before> before;
  for (const auto& node : nodes_) before.push_back({node.desired, node.done.size(), node.failures.size()});
  on_each([&](NodeRun& node) {
    if (!node.plan.steps.empty() && !node.stopped) carry_out(node);
  });
  carry_out_trials();
  observe_again();
  make_plans();
  bool progress = false;
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    auto& node = nodes_[i];
    if (!active(node)) continue;
    add_what_was_learned(node.shown, node.plan);
    // An exit status proves nothing: what was carried out without complaint must now be seen, unless
    // something else is wished for by now.
    for (const auto& id : node.done) {
      const bool still_wished = same_wish(find_resource(before[i].desired, id), find_resource(node.desired, id));
      if (find_change(node.plan, id) == nullptr || contains(node.plan.waiting, id) || !still_wished) continue;
      node.failures.emplace(
          id, Error{ErrorCode::kVerifyFailed, "it was applied, yet the node does not show it", {}, std::nullopt, ""});
    }
    progress = progress || node.done.size() != before[i].done || node.failures.size() != before[i].failures;
  }
  refuse_what_was_not_shown();
  make_plans();
  for (auto& node : nodes_) keep_to_approved(node);
  return progress;
}

void ClusterRun::carry_out_stages() {
  bool progress = true;
  while (progress && !options_.stop.stop_requested()) {
    const bool work_left = std::any_of(nodes_.begin(), nodes_.end(), [&](const NodeRun& node) {
      return active(node) && !node.plan.steps.empty() && !node.stopped;
    });
    if (!work_left) return;
    progress = carry_out_stage();
  }
}

/// What is as planned and yet has no effect: warnings, whatever the run has changed.
void ClusterRun::check_effects() {
  std::vector<std::vector<Diagnostic>> found(nodes_.size());
  on_each([&](NodeRun& node) {
    EffectRequest request;
    for (const auto& resource : node.desired) {
      const auto* type = registry_.find(resource.id.type);
      const bool settled = node.plan.resulting.count(resource.id) > 0 && find_change(node.plan, resource.id) == nullptr;
      if (type == nullptr || !type->info().checks_effect || !settled) continue;
      request.desired[resource.id.type].emplace(resource.id.name, resource.desired);
    }
    if (request.desired.empty()) return;
    tell(node, "looking at the effect");
    auto reply = node.client->call(request);
    if (reply) reply = checked(std::move(*reply), request);
    tell(node, "done", Activity::kWaiting);
    auto& warnings = found[static_cast<std::size_t>(&node - nodes_.data())];
    if (!reply) {
      // What was to be done is done and recorded; that nobody could look at its effect is no failure.
      Diagnostic warning;
      warning.severity = Severity::kWarning;
      warning.code = "effect.unknown";
      warning.message = "what takes effect there could not be looked at: " + reply.error().describe();
      warning.node = node.spec->name.str();
      warnings.push_back(std::move(warning));
      return;
    }
    for (auto& [type, list] : reply->ineffective) {
      for (auto& one : list) {
        Diagnostic warning;
        warning.severity = Severity::kWarning;
        warning.code = std::move(one.code);
        warning.message = std::move(one.message);
        warning.hint = std::move(one.hint);
        warning.node = node.spec->name.str();
        if (const auto* resource = find_resource(node.desired, {type, one.name})) {
          warning.file = cluster_.file;
          warning.where = resource->where;
        }
        warnings.push_back(std::move(warning));
      }
    }
  });
  for (auto& warnings : found) std::move(warnings.begin(), warnings.end(), std::back_inserter(diagnostics_));
}

}  // namespace sparkplan
