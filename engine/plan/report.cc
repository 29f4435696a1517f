#include "engine/plan/report.h"

#include <algorithm>
#include <array>

namespace sparkplan {
namespace {

/// The node differs from the last apply, or a foreign file overrides it.
bool is_drift(const Change& change) { return change.origin != Origin::kConfig && !change.is_harmless(); }

}  // namespace

std::string_view to_string(NodeStatus status) {
  constexpr std::array<std::string_view, 11> kNames{"in_sync", "pending",  "drifted",  "unreachable",
                                                    "failed",  "refused",  "skipped",  "rolled_back",
                                                    "applied", "released", "forgotten"};
  return kNames.at(static_cast<std::size_t>(status));
}

std::string_view to_string(Membership membership) {
  constexpr std::array<std::string_view, 3> kNames{"member", "joining", "leaving"};
  return kNames.at(static_cast<std::size_t>(membership));
}

std::string_view to_string(Outcome outcome) {
  constexpr std::array<std::string_view, 5> kNames{"planned", "done", "failed", "not_done", "unknown"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

NodeStatus status_of(const NodePlan& plan) {
  if (!plan.blocked.empty()) return NodeStatus::kFailed;
  if (std::any_of(plan.changes.begin(), plan.changes.end(), is_drift)) return NodeStatus::kDrifted;
  return plan.in_sync() ? NodeStatus::kInSync : NodeStatus::kPending;
}

}  // namespace sparkplan
