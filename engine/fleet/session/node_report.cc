#include "engine/fleet/session/node_report.h"

#include <algorithm>
#include <utility>

#include "engine/plan/reach.h"

namespace sparkplan {
namespace {

NodeStatus status_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kUnreachable:
      return NodeStatus::kUnreachable;
    case ErrorCode::kRefused:
      return NodeStatus::kRefused;
    default:
      return NodeStatus::kFailed;
  }
}

Membership membership_of(const FleetNode& node, const Roster& roster) {
  if (node.leaving) return Membership::kLeaving;
  const bool in_roster = std::any_of(roster.members.begin(), roster.members.end(),
                                     [&](const RosterEntry& entry) { return entry.name == node.name(); });
  return node.known.manifest || in_roster ? Membership::kMember : Membership::kJoining;
}

}  // namespace

NodeReport report_on_error(const FleetNode& node, Error error) {
  NodeReport report;
  report.name = node.name();
  report.address = shown_address(*node.spec);
  report.status = NodeStatus::kFailed;
  report.error = std::move(error);
  return report;
}

NodeReport report_on(const FleetNode& node, NodePlan plan, const Roster& roster) {
  NodeReport report;
  report.name = node.name();
  report.address = shown_address(*node.spec);
  report.membership = membership_of(node, roster);
  report.not_contacted = node.not_contacted;
  if (!node.error) report.plan = std::move(plan);
  if (node.known.lock_holder) report.lock_holder = node.known.lock_holder->describe();
  if (node.forgotten) {
    report.status = NodeStatus::kForgotten;
  } else if (node.released) {
    report.status = NodeStatus::kReleased;
  } else if (node.skipped) {
    report.status = NodeStatus::kSkipped;
  } else if (node.error) {
    report.status = status_of(*node.error);
    report.error = node.error;
  } else {
    report.status = sparkplan::status_of(report.plan);
    // A node that was never applied cannot have drifted.
    const bool joining = report.membership == Membership::kJoining;
    if (joining && report.status == NodeStatus::kDrifted) report.status = NodeStatus::kPending;
    // Also if only the manifest is left to remove.
    if (node.leaving) report.status = NodeStatus::kPending;
  }
  return report;
}

std::optional<Diagnostic> transaction_warning(const FleetNode& node, const std::string& run) {
  const auto& transaction = node.known.transaction;
  if (!transaction || transaction->run == run) return std::nullopt;
  Diagnostic warning;
  warning.severity = Severity::kWarning;
  warning.node = node.name();
  if (transaction->state == TransactionState::kRolledBack) {
    warning.code = "trial.rolled-back";
    warning.message = "a change by " + transaction->who + " was rolled back" +
                      not_restored_words(transaction->not_restored) + ": " + transaction->reason;
  } else if (transaction->state == TransactionState::kRollbackFailed) {
    warning.code = "trial.rollback-failed";
    warning.message = "a change by " + transaction->who + " could not be undone: " + transaction->reason;
    warning.hint = repair_words(transaction->manual_commands);
  } else if (transaction->state == TransactionState::kArmed) {
    warning.code = "trial.under-way";
    warning.message = "a change by " + transaction->who + " waits for confirmation; the node rolls it back in " +
                      std::to_string(transaction->seconds_left) + " s unless confirmed";
  } else {
    return std::nullopt;
  }
  return warning;
}

}  // namespace sparkplan
