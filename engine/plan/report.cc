#include "engine/plan/report.h"

#include <algorithm>

namespace sparkplan {
namespace {

/// The node differs from the last apply, or a foreign file overrides it.
bool is_drift(const Change& change) { return change.origin != Origin::kConfig && !change.is_harmless(); }

}  // namespace

Outcome outcome_of(const NodeReport& node, const ResourceId& id) {
  const auto found = node.outcomes.find(id);
  return found == node.outcomes.end() ? Outcome::kPlanned : found->second;
}

NodeStatus status_of(const NodePlan& plan) {
  if (!plan.blocked.empty()) return NodeStatus::kFailed;
  if (std::any_of(plan.changes.begin(), plan.changes.end(), is_drift)) return NodeStatus::kDrifted;
  return plan.in_sync() ? NodeStatus::kInSync : NodeStatus::kPending;
}

}  // namespace sparkplan
