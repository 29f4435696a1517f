#include "engine/report/exit_code.h"

#include <algorithm>
#include <array>
#include <set>

namespace sparkplan {
namespace {

constexpr std::array kPrecedence = {ExitCode::kUsage,    ExitCode::kInvalidFile,        ExitCode::kRolledBack,
                                    ExitCode::kRefused,  ExitCode::kNodeFailed,         ExitCode::kLocked,
                                    ExitCode::kStale,    ExitCode::kVerificationFailed, ExitCode::kCommandFailed,
                                    ExitCode::kDifferent};

/// A change of the plan was not done. Foreign changes are never done.
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

/// `begun`: the run has not stopped before its first change, on all nodes.
void add_failures(const NodeReport& node, bool begun, std::set<ExitCode>& codes) {
  if (node.error) codes.insert(exit_code_of(*node.error));
  for (const BlockedResource& blocked : node.plan.blocked) codes.insert(exit_code_of(blocked.error));
  // A change that was not done, without an error that explains it, is a failure.
  const bool explained = node.error || !node.plan.blocked.empty();
  if (!explained && begun && left_undone(node)) codes.insert(ExitCode::kNodeFailed);
  if (!explained && node.status == NodeStatus::kFailed) codes.insert(ExitCode::kNodeFailed);
  if (node.status == NodeStatus::kUnreachable) codes.insert(ExitCode::kNodeFailed);
  if (node.status == NodeStatus::kRefused) codes.insert(ExitCode::kRefused);
  if (node.status == NodeStatus::kRolledBack) codes.insert(ExitCode::kRolledBack);
}

/// The node has changed since the last apply, or a foreign file wins.
bool is_drift(const Change& change) { return change.origin != Origin::kConfig && !change.is_harmless(); }

bool differs(const NodeReport& node, const ExitRules& rules) {
  const auto& changes = node.plan.changes;
  const auto any = [&](auto matches) { return std::any_of(changes.begin(), changes.end(), matches); };
  // A node that was never applied cannot have drifted, whatever its foreign files contain.
  const bool managed = node.membership != Membership::kJoining;
  const bool drift = managed && (node.status == NodeStatus::kDrifted || any(is_drift));
  const bool pending = node.status == NodeStatus::kPending || node.membership != Membership::kMember ||
                       !node.plan.waiting.empty() || any([](const Change& c) { return c.origin == Origin::kConfig; });
  return (rules.changes_are_2 && (drift || pending)) || (rules.drift_is_2 && drift) || (rules.pending_is_2 && pending);
}

}  // namespace

ExitCode exit_code_of(const Error& error) {
  switch (error.code) {
    case ErrorCode::kBug:
      return ExitCode::kUsage;
    case ErrorCode::kRefused:
      return ExitCode::kRefused;
    case ErrorCode::kBusy:
      return ExitCode::kLocked;
    case ErrorCode::kStalePlan:
      return ExitCode::kStale;
    default:
      return ExitCode::kNodeFailed;
  }
}

ExitCode exit_code(const Report& report, const ExitRules& rules) {
  std::set<ExitCode> codes;
  if (has_errors(report.diagnostics)) codes.insert(ExitCode::kInvalidFile);
  if (report.verification_failed) codes.insert(ExitCode::kVerificationFailed);
  bool skipped = false;
  bool waiting = false;
  for (const NodeReport& node : report.nodes) {
    // An unreachable departed node is listed until it answers. Only an apply has work there.
    const bool gone = node.membership == Membership::kLeaving && node.status == NodeStatus::kUnreachable;
    if (!gone || report.carries_out()) add_failures(node, !report.not_begun, codes);
    if (differs(node, rules)) codes.insert(ExitCode::kDifferent);
    skipped = skipped || node.status == NodeStatus::kSkipped;
    waiting = waiting || left_waiting(node);
  }
  if (report.content_changed && rules.drift_is_2) codes.insert(ExitCode::kDifferent);
  // A resource that waits for a node outside the selection is no failure of the run.
  const bool whole = !report.partial && !skipped;
  if (report.carries_out() && !report.not_begun && waiting && (whole || report.interrupted))
    codes.insert(ExitCode::kNodeFailed);
  // Ctrl-C before the first change, when no node has an error yet.
  if (report.not_begun && report.interrupted) codes.insert(ExitCode::kNodeFailed);
  return first_of(codes);
}

ExitCode exit_code(const JobReport& report) {
  std::set<ExitCode> codes;
  if (report.output_error) codes.insert(ExitCode::kUsage);
  if (report.interrupted) codes.insert(ExitCode::kCommandFailed);
  if (failed_preflight(report)) codes.insert(ExitCode::kVerificationFailed);
  for (const JobNodeReport& node : report.nodes) {
    const bool stopped = node.error && node.error->code == ErrorCode::kInterrupted;
    if (node.error) codes.insert(stopped ? ExitCode::kCommandFailed : exit_code_of(*node.error));
    if (!node.left.empty() || !node.containers_left.empty()) codes.insert(ExitCode::kNodeFailed);
    for (const RankReport& rank : node.ranks) {
      if (rank.ended && !rank.succeeded()) codes.insert(ExitCode::kCommandFailed);
    }
  }
  return first_of(codes);
}

ExitCode first_of(const std::set<ExitCode>& codes) {
  for (const ExitCode code : kPrecedence) {
    if (codes.contains(code)) return code;
  }
  return ExitCode::kDone;
}

}  // namespace sparkplan
