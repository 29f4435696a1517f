#include "engine/plan/report.h"

#include <algorithm>
#include <array>
#include <set>

namespace sparkplan {
namespace {

constexpr int kDone = 0;
constexpr int kUsageOrBug = 1;
constexpr int kDifferent = 2;
constexpr int kInvalidFile = 3;
constexpr int kNodeFailed = 4;
constexpr int kStale = 5;
constexpr int kLocked = 6;
constexpr int kRolledBack = 7;
constexpr int kVerificationFailed = 8;
constexpr int kRefused = 9;
constexpr std::array kPrecedence = {kUsageOrBug, kInvalidFile, kRolledBack,         kRefused,  kNodeFailed,
                                    kLocked,     kStale,       kVerificationFailed, kDifferent};

int code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kBug:
      return kUsageOrBug;
    case ErrorCode::kRefused:
      return kRefused;
    case ErrorCode::kBusy:
      return kLocked;
    case ErrorCode::kStalePlan:
      return kStale;
    default:
      return kNodeFailed;
  }
}

Outcome outcome_of(const NodeReport& node, const ResourceId& id) {
  const auto found = node.outcomes.find(id);
  return found == node.outcomes.end() ? Outcome::kPlanned : found->second;
}

/// Something that was to be done on the node was not. Foreign changes never were to be done.
bool left_undone(const NodeReport& node) {
  return std::any_of(node.plan.changes.begin(), node.plan.changes.end(), [&](const Change& change) {
    const Outcome outcome = outcome_of(node, change.id);
    return change.origin != Origin::kForeign && outcome != Outcome::kPlanned && outcome != Outcome::kDone;
  });
}

bool left_waiting(const NodeReport& node) {
  return std::any_of(node.plan.waiting.begin(), node.plan.waiting.end(),
                     [&](const ResourceId& id) { return outcome_of(node, id) != Outcome::kDone; });
}

void add_failures(const NodeReport& node, std::set<int>& codes) {
  if (node.error) codes.insert(code_of(*node.error));
  for (const BlockedResource& blocked : node.plan.blocked) codes.insert(code_of(blocked.error));
  // Without an error of its own to say why, what was not done is simply a failure.
  const bool explained = node.error || !node.plan.blocked.empty();
  if (!explained && left_undone(node)) codes.insert(kNodeFailed);
  if (!explained && node.status == NodeStatus::kFailed) codes.insert(kNodeFailed);
  if (node.status == NodeStatus::kUnreachable) codes.insert(kNodeFailed);
  if (node.status == NodeStatus::kRefused) codes.insert(kRefused);
  if (node.status == NodeStatus::kRolledBack) codes.insert(kRolledBack);
}

/// The node is not as it was left, or somebody else's file wins.
bool is_drift(const Change& change) { return change.origin != Origin::kConfig && !change.is_harmless(); }

bool differs(const NodeReport& node, const ExitRules& rules) {
  const auto& changes = node.plan.changes;
  const auto any = [&](auto matches) { return std::any_of(changes.begin(), changes.end(), matches); };
  // A node that was never applied cannot have drifted, whatever somebody else's file says there.
  const bool managed = node.membership != Membership::kJoining;
  const bool drift = managed && (node.status == NodeStatus::kDrifted || any(is_drift));
  const bool pending = node.status == NodeStatus::kPending || node.membership != Membership::kMember ||
                       !node.plan.waiting.empty() || any([](const Change& c) { return c.origin == Origin::kConfig; });
  return (rules.changes_are_2 && (drift || pending)) || (rules.drift_is_2 && drift) || (rules.pending_is_2 && pending);
}

}  // namespace

std::string_view to_string(NodeStatus status) {
  switch (status) {
    case NodeStatus::kInSync:
      return "in_sync";
    case NodeStatus::kPending:
      return "pending";
    case NodeStatus::kDrifted:
      return "drifted";
    case NodeStatus::kUnreachable:
      return "unreachable";
    case NodeStatus::kFailed:
      return "failed";
    case NodeStatus::kRefused:
      return "refused";
    case NodeStatus::kSkipped:
      return "skipped";
    case NodeStatus::kRolledBack:
      return "rolled_back";
    case NodeStatus::kApplied:
      return "applied";
    case NodeStatus::kReleased:
      return "released";
  }
  return "failed";
}

std::string_view to_string(Membership membership) {
  switch (membership) {
    case Membership::kMember:
      return "member";
    case Membership::kJoining:
      return "joining";
    case Membership::kLeaving:
      return "leaving";
  }
  return "member";
}

std::string_view to_string(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPlanned:
      return "planned";
    case Outcome::kDone:
      return "done";
    case Outcome::kFailed:
      return "failed";
    case Outcome::kNotDone:
      return "not_done";
    case Outcome::kUnknown:
      return "unknown";
  }
  return "planned";
}

NodeStatus status_of(const NodePlan& plan) {
  if (!plan.blocked.empty()) return NodeStatus::kFailed;
  if (std::any_of(plan.changes.begin(), plan.changes.end(), is_drift)) return NodeStatus::kDrifted;
  return plan.in_sync() ? NodeStatus::kInSync : NodeStatus::kPending;
}

int exit_code(const Report& report, const ExitRules& rules) {
  std::set<int> codes;
  if (has_errors(report.diagnostics)) codes.insert(kInvalidFile);
  if (report.verification_failed) codes.insert(kVerificationFailed);
  bool skipped = false;
  bool waiting = false;
  for (const NodeReport& node : report.nodes) {
    // A machine that has left and cannot be asked is listed until it can; only an apply was to do something there.
    const bool gone = node.membership == Membership::kLeaving && node.status == NodeStatus::kUnreachable;
    if (!gone || report.carries_out()) add_failures(node, codes);
    if (differs(node, rules)) codes.insert(kDifferent);
    skipped = skipped || node.status == NodeStatus::kSkipped;
    waiting = waiting || left_waiting(node);
  }
  // What waits for a node that this run leaves out on purpose is no failure of the run.
  const bool whole = !report.partial && !skipped;
  if (report.carries_out() && waiting && (whole || report.interrupted)) codes.insert(kNodeFailed);
  for (const int code : kPrecedence)
    if (codes.contains(code)) return code;
  return kDone;
}

}  // namespace sparkplan
