// ClusterRun: what an apply has to say at its end.
#include <algorithm>
#include <utility>

#include "engine/fleet/cluster_run.h"
#include "engine/fleet/last_line.h"
#include "engine/fleet/plan_lookup.h"

namespace sparkplan {
namespace {

/// What needs something that has failed is blocked by now, and in no list of changes.
bool is_left_to_do(const NodePlan& plan, const ResourceId& id) {
  const bool blocked =
      std::any_of(plan.blocked.begin(), plan.blocked.end(), [&](const BlockedResource& one) { return one.id == id; });
  return blocked || find_change(plan, id) != nullptr;
}

}  // namespace

NodeReport ClusterRun::apply_report_on(const NodeRun& node) const {
  NodeReport report = report_on(node);
  report.plan.changes = node.shown.changes;
  report.plan.steps = node.shown.steps;
  // What is in sync by now has no value to come, yet its change still has to tell which fields it was about.
  report.plan.after_steps = node.shown.after_steps;
  report.plan.waiting = node.plan.waiting;
  report.plan.blocked = node.plan.blocked;
  if (node.skipped || node.not_contacted) return report;
  const bool nobody_stopped_it = !node.stopped && !options_.stop.stop_requested();
  bool all_done = true;
  for (const auto& change : node.shown.changes) {
    if (change.origin == Origin::kForeign) continue;
    Outcome outcome = Outcome::kDone;
    if (node.failures.count(change.id) > 0) {
      outcome = Outcome::kFailed;
    } else if (node.in_flight.count(change.id) > 0) {
      outcome = Outcome::kUnknown;
    } else if (const bool done = node.done.count(change.id) > 0;
               (!done && node.error) ||
               ((!done || contains(node.plan.waiting, change.id)) && is_left_to_do(node.plan, change.id))) {
      outcome = Outcome::kNotDone;
    }
    report.outcomes[change.id] = outcome;
    all_done = all_done && outcome == Outcome::kDone;
  }
  if (node.error) return report;
  if (node.held_back) {
    report.error = node.held_back;
    report.status = NodeStatus::kFailed;
  } else if (node.stale) {
    report.error = Error{ErrorCode::kStalePlan, "it changed since the plan was made", {}, std::nullopt, "plan again"};
    report.status = NodeStatus::kFailed;
  } else if (!report.plan.blocked.empty() || !node.failures.empty()) {
    report.status = NodeStatus::kFailed;
  } else if (!all_done) {
    report.status = NodeStatus::kFailed;
    report.error =
        nobody_stopped_it
            ? Error{ErrorCode::kFailed, "not everything that was planned was done", {}, std::nullopt, "plan again"}
            : Error{ErrorCode::kInterrupted, "stopped before everything was done", {}, std::nullopt, "apply again"};
  } else if (node.leaving && !node.released) {
    report.status = NodeStatus::kFailed;
    report.error = Error{ErrorCode::kFailed, "it was not released", {}, std::nullopt, "apply again"};
  } else if (!node.leaving && !report.outcomes.empty()) {
    report.status = NodeStatus::kApplied;
  }
  return report;
}

Report ClusterRun::apply_report() const {
  Report result = report();
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    last_line([&] { result.nodes[i] = apply_report_on(nodes_[i]); },
              [&](Error error) { result.nodes[i] = report_on_error(nodes_[i], std::move(error)); });
  }
  return result;
}

}  // namespace sparkplan
