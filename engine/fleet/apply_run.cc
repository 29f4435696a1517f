// ClusterRun::apply(): approval, locks, stages, manifests.
#include <algorithm>
#include <set>
#include <thread>
#include <utility>

#include "engine/fleet/cluster_run.h"
#include "engine/fleet/fan_out.h"
#include "engine/fleet/run_identity.h"
#include "engine/plan/planner.h"
#include "engine/plan/roster.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

/// A stage carries out what is known and looks again; exports settle in one, refusals in a few.
/// More would mean that a type never converges.
constexpr int kMaxStages = 8;

bool is_waiting(const NodePlan& plan, const ResourceId& id) {
  return std::find(plan.waiting.begin(), plan.waiting.end(), id) != plan.waiting.end();
}

const Change* find_change(const NodePlan& plan, const ResourceId& id) {
  const auto found = std::find_if(plan.changes.begin(), plan.changes.end(), [&](const Change& change) {
    return change.id == id && change.origin != Origin::kForeign;
  });
  return found == plan.changes.end() ? nullptr : &*found;
}

/// What a later stage has learned replaces what the approved plan could not know.
void add_later_changes(NodePlan& shown, const NodePlan& later) {
  for (const auto& change : later.changes) {
    const auto known = std::find_if(shown.changes.begin(), shown.changes.end(),
                                    [&](const Change& earlier) { return earlier.id == change.id; });
    if (known == shown.changes.end()) {
      shown.changes.push_back(change);
    } else if (is_waiting(shown, change.id)) {
      *known = change;
    }
  }
}

std::map<ResourceId, ManagedResource> managed_after(const NodeRun& node) {
  std::map<ResourceId, std::vector<ArtifactId>> artifacts;
  if (node.known.manifest) {
    for (const auto& [id, managed] : node.known.manifest->resources) artifacts[id] = managed.artifacts;
  }
  for (const auto* plan : {&node.shown, &node.plan}) {
    for (const auto& step : plan->steps) {
      for (const auto& id : step.resources) {
        auto& list = artifacts[id];
        if (std::find(list.begin(), list.end(), step.artifact) == list.end()) list.push_back(step.artifact);
      }
    }
  }
  std::map<ResourceId, ManagedResource> managed;
  for (const auto& [id, value] : node.plan.resulting) managed.emplace(id, ManagedResource{value, artifacts[id]});
  return managed;
}

bool same_resources(const std::map<ResourceId, ManagedResource>& a, const std::map<ResourceId, ManagedResource>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const auto& x, const auto& y) {
    return x.first == y.first && x.second.last_applied == y.second.last_applied && x.second.artifacts == y.second.artifacts;
  });
}

}  // namespace

Report ClusterRun::apply(const ApplyOptions& options) {
  Report planned = plan();
  for (auto& node : nodes_) node.shown = node.plan;
  if (has_errors(diagnostics_) || guards_refuse(options)) return report();
  const bool changes = std::any_of(nodes_.begin(), nodes_.end(),
                                   [&](const NodeRun& node) { return active(node) && !node.plan.steps.empty(); });
  if (options_.stop.stop_requested()) return report();
  if (changes && options.approve && !options.approve(planned)) return report();
  if (!lock_all(options.lock_timeout)) return report();
  carry_out_stages();
  commit_all();
  unlock_all();
  return apply_report();
}

bool ClusterRun::guards_refuse(const ApplyOptions& options) {
  if (!leavers_.empty()) return true;
  bool refused = false;
  for (auto& node : nodes_) {
    if (!active(node) || options.allow_prune || !needs_prune_consent(node.plan)) continue;
    node.error = Error{ErrorCode::kRefused, "most of what sparkplan manages there would be removed", {}, std::nullopt,
                       "if that is what you want, say so with --yes-prune"};
    refused = true;
  }
  if (refused) return true;
  if (!options.all_or_nothing) return false;
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [](const NodeRun& node) { return node.error || !node.plan.blocked.empty(); });
}

bool ClusterRun::lock_all(std::chrono::milliseconds timeout) {
  const auto holder = this_controller(options_.command);
  const auto end = Clock::now() + timeout;
  auto pause = std::chrono::milliseconds(100);
  while (true) {
    std::vector<std::optional<Error>> misses(nodes_.size());
    on_each([&](NodeRun& node) {
      auto locked = node.client->lock(holder);
      if (locked) return;
      if (locked.error().code != ErrorCode::kBusy) return give_up(node, std::move(locked).error());
      misses[static_cast<std::size_t>(&node - nodes_.data())] = std::move(locked).error();
    });
    const bool missed = std::any_of(misses.begin(), misses.end(), [](const auto& miss) { return miss.has_value(); });
    if (!missed) return true;
    // Two controllers that each wait with half of the locks in hand would wait for ever.
    unlock_all();
    if (Clock::now() + pause >= end || options_.stop.stop_requested()) {
      for (std::size_t i = 0; i < nodes_.size(); ++i) {
        if (misses[i]) nodes_[i].error = std::move(misses[i]);
      }
      return false;
    }
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::milliseconds(2000));
  }
}

void ClusterRun::unlock_all() {
  on_each([&](NodeRun& node) {
    if (auto unlocked = node.client->unlock(); !unlocked) give_up(node, std::move(unlocked).error());
  });
}

void ClusterRun::blame(NodeRun& node, const ApplyReply& reply, const std::vector<Step>& steps) {
  node.stopped = node.stopped || reply.stopped;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto& result = reply.results[i];
    if (result.outcome == StepOutcome::kDone) node.wrote = true;
    if (!result.error) continue;
    if (result.outcome == StepOutcome::kStale) node.stale = true;
    for (const auto& id : steps[i].resources) node.failures.emplace(id, *result.error);
  }
}

void ClusterRun::carry_out(NodeRun& node) {
  tell(node, "applying " + std::to_string(node.plan.steps.size()) + " steps");
  auto reply = node.client->apply({run_, node.spec->name.str(), new_roster(), node.plan.steps});
  if (!reply) return give_up(node, std::move(reply).error());
  blame(node, *reply, node.plan.steps);
}

/// Reads everything again that a stage may have changed, exports included.
void ClusterRun::observe_again() {
  FactsRequest request;
  for (const auto& type : registry_.types()) request.exports.push_back(type->info().name);
  on_each([&](NodeRun& node) {
    auto known = node.client->refresh_facts(request);
    if (!known) return give_up(node, std::move(known).error());
    node.known = std::move(*known);
  });
  compile();
  observe();
}

void ClusterRun::carry_out_stages() {
  for (int stage = 0; stage < kMaxStages; ++stage) {
    const bool work_left = std::any_of(nodes_.begin(), nodes_.end(), [&](const NodeRun& node) {
      return active(node) && !node.plan.steps.empty() && !node.stopped;
    });
    if (!work_left || has_errors(diagnostics_)) return;
    std::vector<NodePlan> tried;
    for (const auto& node : nodes_) tried.push_back(node.plan);
    on_each([&](NodeRun& node) {
      if (!node.plan.steps.empty() && !node.stopped) carry_out(node);
    });
    observe_again();
    make_plans();
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      auto& node = nodes_[i];
      if (!active(node) || node.stopped) continue;
      add_later_changes(node.shown, node.plan);
      // An exit status proves nothing: what was carried out without complaint must now be seen.
      for (const auto& step : tried[i].steps) {
        for (const auto& id : step.resources) {
          const bool group_failed = std::any_of(tried[i].steps.begin(), tried[i].steps.end(), [&](const Step& other) {
            return other.group == step.group && std::any_of(other.resources.begin(), other.resources.end(),
                                                            [&](const auto& r) { return node.failures.count(r) > 0; });
          });
          if (group_failed || find_change(node.plan, id) == nullptr || is_waiting(node.plan, id)) continue;
          node.failures.emplace(id, Error{ErrorCode::kVerifyFailed, "it was applied, yet the node does not show it", {},
                                          std::nullopt, ""});
        }
      }
    }
    make_plans();
  }
}

Roster ClusterRun::new_roster() const {
  std::map<std::string, std::string> host_keys;
  for (const auto& node : nodes_) {
    if (node.client) host_keys[node.spec->name.str()] = node.client->host_key();
  }
  return next_roster(roster_, cluster_, host_keys, uuid_);
}

void ClusterRun::commit_all() {
  const auto roster = new_roster();
  const auto who = this_controller(options_.command).who;
  on_each([&](NodeRun& node) {
    const auto managed = managed_after(node);
    const auto* before = node.known.manifest ? &*node.known.manifest : nullptr;
    const bool nothing_new = before != nullptr && !node.wrote && before->roster == roster &&
                             same_resources(before->resources, managed);
    if (nothing_new) return;
    const auto audit = "run=" + run_ + " cluster=" + cluster_.name + " node=" + node.spec->name.str() + " by=" + who +
                       " changes=" + std::to_string(node.shown.changes.size()) +
                       " failed=" + std::to_string(node.failures.size());
    auto committed = node.client->commit({run_, node.spec->name.str(), roster, managed, audit});
    if (!committed) give_up(node, std::move(committed).error().within("write the manifest"));
  });
}

NodeReport ClusterRun::apply_report_on(const NodeRun& node) const {
  NodeReport report = report_on(node);
  report.plan.changes = node.shown.changes;
  report.plan.waiting = node.plan.waiting;
  if (node.skipped) return report;
  bool all_done = true;
  for (const auto& change : node.shown.changes) {
    if (change.origin == Origin::kForeign) continue;
    Outcome outcome = Outcome::kDone;
    if (node.failures.count(change.id) > 0) {
      outcome = Outcome::kFailed;
    } else if (node.error || find_change(node.plan, change.id) != nullptr) {
      outcome = Outcome::kNotDone;
    }
    report.outcomes[change.id] = outcome;
    all_done = all_done && outcome == Outcome::kDone;
  }
  if (node.error) return report;
  if (node.stale) {
    report.error = Error{ErrorCode::kStalePlan, "it changed while we were at it", {}, std::nullopt, "plan again"};
    report.status = NodeStatus::kFailed;
  } else if (!report.plan.blocked.empty() || !node.failures.empty()) {
    report.status = NodeStatus::kFailed;
  } else if (!all_done) {
    report.status = NodeStatus::kFailed;
    report.error = Error{ErrorCode::kInterrupted, "stopped before everything was done", {}, std::nullopt, "apply again"};
  } else if (!report.outcomes.empty()) {
    report.status = NodeStatus::kApplied;
  }
  return report;
}

Report ClusterRun::apply_report() const {
  Report result = report();
  for (std::size_t i = 0; i < nodes_.size(); ++i) result.nodes[i] = apply_report_on(nodes_[i]);
  return result;
}

}  // namespace sparkplan
