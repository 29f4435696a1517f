#include "engine/report/exit_code.h"

#include "tests/support/catch.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using testing::sample_change;
using testing::sample_node;
using testing::sample_report;

constexpr ExitRules kPlain{};
constexpr ExitRules kDetailed{true, false, false};
constexpr ExitRules kDrift{false, true, false};
constexpr ExitRules kDriftPending{false, true, true};

NodeReport with_error(ErrorCode code, NodeStatus status = NodeStatus::kFailed) {
  NodeReport node = sample_node(1, status);
  node.error = Error{code, "x", {}, {}, {}};
  return node;
}

NodeReport with_change(Origin origin) {
  NodeReport node = sample_node(1);
  node.plan.changes = {sample_change("x/y", Action::kUpdate, {{"v", 1, 2}}, origin)};
  node.status = status_of(node.plan);
  return node;
}

NodeReport with_outcome(Outcome outcome, Origin origin = Origin::kConfig) {
  NodeReport node = with_change(origin);
  node.status = NodeStatus::kApplied;
  node.outcomes[{"x", "y"}] = outcome;
  return node;
}

/// The contract defines numbers.
int number_of(const Report& report, const ExitRules& rules) { return static_cast<int>(exit_code(report, rules)); }

int code_of(const NodeReport& node, const ExitRules& rules = kPlain) {
  return number_of(sample_report("plan", {node, sample_node(2)}), rules);
}

TEST_CASE("a failed check is 8, after undone work and before a difference") {
  const auto code_with = [](const NodeReport& node, const ExitRules& rules = kPlain) {
    Report report = sample_report("apply", {node, sample_node(2)});
    report.verification_failed = true;
    return number_of(report, rules);
  };
  CHECK(code_with(sample_node(1)) == 8);
  CHECK(code_with(with_error(ErrorCode::kUnreachable, NodeStatus::kUnreachable)) == 4);
  CHECK(code_with(with_error(ErrorCode::kBusy)) == 6);
  CHECK(code_with(with_error(ErrorCode::kStalePlan)) == 5);
  CHECK(code_with(with_change(Origin::kDrift), kDrift) == 8);
}

TEST_CASE("a run that was stopped is never 0 if a node was not read, or if its changes were not begun") {
  CHECK(code_of(with_error(ErrorCode::kInterrupted)) == 4);
  Report report = sample_report("apply", {with_change(Origin::kConfig), sample_node(2)});
  report.not_begun = report.interrupted = true;
  CHECK(number_of(report, kPlain) == 4);
}

TEST_CASE("a node in sync is 0 under all rules") {
  for (const ExitRules& rules : {kPlain, kDetailed, kDrift, kDriftPending}) CHECK(code_of(sample_node(1), rules) == 0);
}

TEST_CASE("a plan with changes is 0, and 2 only with --detailed-exitcode") {
  CHECK(code_of(with_change(Origin::kConfig)) == 0);
  CHECK(code_of(with_change(Origin::kDrift)) == 0);
  CHECK(code_of(with_change(Origin::kConfig), kDetailed) == 2);
  CHECK(code_of(with_change(Origin::kDrift), kDetailed) == 2);
}

TEST_CASE("a plan with only a release or a waiting value has changes") {
  NodeReport leaving = sample_node(1);
  leaving.membership = Membership::kLeaving;
  CHECK(code_of(leaving, kDetailed) == 2);
  NodeReport waiting = sample_node(1, NodeStatus::kPending);
  waiting.plan.waiting = {{"x", "y"}};
  CHECK(code_of(waiting, kDetailed) == 2);
}

TEST_CASE("drift exits with 2 for drift and foreign, and for pending only with --pending") {
  CHECK(code_of(with_change(Origin::kDrift), kDrift) == 2);
  CHECK(code_of(with_change(Origin::kForeign), kDrift) == 2);
  CHECK(code_of(with_change(Origin::kConfig), kDrift) == 0);
  CHECK(code_of(with_change(Origin::kConfig), kDriftPending) == 2);
}

TEST_CASE("a harmless foreign setting is neither drift nor a difference") {
  NodeReport node = sample_node(1);
  node.plan.changes = {sample_change("limits/*:memlock", Action::kUpdate, {}, Origin::kForeign)};
  node.status = status_of(node.plan);
  CHECK(node.status == NodeStatus::kInSync);
  for (const ExitRules& rules : {kPlain, kDetailed, kDrift, kDriftPending}) CHECK(code_of(node, rules) == 0);
  node.plan.changes.push_back(with_change(Origin::kForeign).plan.changes[0]);
  CHECK(status_of(node.plan) == NodeStatus::kDrifted);
  CHECK(code_of(node, kDrift) == 2);
}

TEST_CASE("a node that was never applied is pending, whatever a foreign file contains") {
  NodeReport node = with_change(Origin::kForeign);
  node.membership = Membership::kJoining;
  CHECK(code_of(node, kDrift) == 0);
  CHECK(code_of(node, kDriftPending) == 2);
}

TEST_CASE("each error code has its exit code") {
  CHECK(code_of(with_error(ErrorCode::kBug)) == 1);
  CHECK(code_of(with_error(ErrorCode::kRefused, NodeStatus::kRefused)) == 9);
  CHECK(code_of(with_error(ErrorCode::kBusy)) == 6);
  CHECK(code_of(with_error(ErrorCode::kStalePlan)) == 5);
  CHECK(code_of(with_error(ErrorCode::kUnreachable, NodeStatus::kUnreachable)) == 4);
  for (const ErrorCode code :
       {ErrorCode::kPermissionDenied, ErrorCode::kUntrusted, ErrorCode::kVerifyFailed, ErrorCode::kUnsupported,
        ErrorCode::kFailed, ErrorCode::kInterrupted, ErrorCode::kNotFound})
    CHECK(code_of(with_error(code)) == 4);
}

TEST_CASE("a status without an error still has its exit code") {
  CHECK(code_of(sample_node(1, NodeStatus::kUnreachable)) == 4);
  CHECK(code_of(sample_node(1, NodeStatus::kFailed)) == 4);
  CHECK(code_of(sample_node(1, NodeStatus::kRefused)) == 9);
  CHECK(code_of(sample_node(1, NodeStatus::kRolledBack)) == 7);
  CHECK(code_of(sample_node(1, NodeStatus::kSkipped)) == 0);
}

TEST_CASE("a blocked resource is a failure") {
  NodeReport node = sample_node(1);
  node.plan.blocked = {{{"x", "y"}, {ErrorCode::kPermissionDenied, "read", {}, {}, {}}, {}}};
  node.status = status_of(node.plan);
  CHECK(code_of(node) == 4);
  node.plan.blocked[0].error.code = ErrorCode::kStalePlan;
  CHECK(code_of(node) == 5);
}

TEST_CASE("an invalid file is 3, a warning is not") {
  Report report = sample_report("plan", {});
  Diagnostic finding;
  report.diagnostics = {finding};
  CHECK(number_of(report, kPlain) == 3);
  report.diagnostics[0].severity = Severity::kWarning;
  CHECK(number_of(report, kPlain) == 0);
}

TEST_CASE("of several codes the first in the order 1, 3, 7, 9, 4, 6, 5, 2 is used") {
  Report report = sample_report("drift", {with_change(Origin::kDrift)});
  const auto code_with = [&](NodeReport node) {
    report.nodes.push_back(std::move(node));
    return number_of(report, kDrift);
  };
  CHECK(number_of(report, kDrift) == 2);
  CHECK(code_with(with_error(ErrorCode::kStalePlan)) == 5);
  CHECK(code_with(with_error(ErrorCode::kBusy)) == 6);
  CHECK(code_with(with_error(ErrorCode::kFailed)) == 4);
  CHECK(code_with(with_error(ErrorCode::kRefused, NodeStatus::kRefused)) == 9);
  CHECK(code_with(with_error(ErrorCode::kUnreachable, NodeStatus::kRolledBack)) == 7);
  report.diagnostics.emplace_back();
  CHECK(number_of(report, kDrift) == 3);
  CHECK(code_with(with_error(ErrorCode::kBug)) == 1);
}

TEST_CASE("an apply is 0 only if everything was done") {
  CHECK(code_of(with_outcome(Outcome::kDone)) == 0);
  CHECK(code_of(with_outcome(Outcome::kFailed)) == 4);
  CHECK(code_of(with_outcome(Outcome::kNotDone)) == 4);
  CHECK(code_of(with_outcome(Outcome::kUnknown)) == 4);
  CHECK(code_of(with_outcome(Outcome::kNotDone, Origin::kForeign)) == 0);
}

TEST_CASE("a change refused because of a stale plan is 5, not 4") {
  NodeReport node = with_outcome(Outcome::kFailed);
  node.plan.blocked = {{{"x", "y"}, {ErrorCode::kStalePlan, "changed meanwhile", {}, {}, {}}, {}}};
  node.status = NodeStatus::kFailed;
  CHECK(code_of(node) == 5);
}

TEST_CASE("changes that were never begun are no failures: a busy node alone decides the code") {
  NodeReport waiting = with_outcome(Outcome::kNotDone);
  waiting.status = NodeStatus::kPending;
  waiting.plan.waiting = {{"x", "y"}};
  Report report = sample_report("apply", {with_error(ErrorCode::kBusy), waiting});
  CHECK(number_of(report, kPlain) == 4);
  report.not_begun = true;
  CHECK(number_of(report, kPlain) == 6);
}

TEST_CASE("an interrupted run is 4 if it left changes undone, else 0") {
  Report report = sample_report("apply", {with_outcome(Outcome::kDone)});
  report.interrupted = true;
  CHECK(number_of(report, kPlain) == 0);
  report.nodes[0].outcomes[{"x", "y"}] = Outcome::kNotDone;
  CHECK(number_of(report, kPlain) == 4);
  report.nodes = {with_error(ErrorCode::kInterrupted)};
  CHECK(number_of(report, kPlain) == 4);
}

TEST_CASE("an apply with a waiting resource is 4, unless the user excluded a node or resource") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.waiting = {{"x", "y"}};
  Report report = sample_report("apply", {node});
  CHECK(number_of(report, kPlain) == 4);
  report.partial = true;
  CHECK(number_of(report, kPlain) == 0);
  report.partial = false;
  report.nodes.push_back(sample_node(2, NodeStatus::kSkipped));
  CHECK(number_of(report, kPlain) == 0);
  report.nodes.pop_back();
  report.nodes[0].outcomes[{"x", "y"}] = Outcome::kDone;  // A later stage did it.
  CHECK(number_of(report, kPlain) == 0);
}

TEST_CASE("a plan's changes, waiting and blocked resources decide the node's status") {
  CHECK(status_of({}) == NodeStatus::kInSync);
  CHECK(with_change(Origin::kConfig).status == NodeStatus::kPending);
  CHECK(with_change(Origin::kDrift).status == NodeStatus::kDrifted);
  CHECK(with_change(Origin::kForeign).status == NodeStatus::kDrifted);
  NodePlan plan;
  plan.waiting = {{"x", "y"}};
  CHECK(status_of(plan) == NodeStatus::kPending);
  plan.blocked = {{{"x", "y"}, {}, {}}};
  CHECK(status_of(plan) == NodeStatus::kFailed);
}

TEST_CASE("statuses, memberships and outcomes have the names promised to scripts") {
  CHECK(to_string(NodeStatus::kInSync) == "in_sync");
  CHECK(to_string(NodeStatus::kRolledBack) == "rolled_back");
  CHECK(to_string(NodeStatus::kReleased) == "released");
  CHECK(to_string(NodeStatus::kForgotten) == "forgotten");
  CHECK(to_string(Membership::kLeaving) == "leaving");
  CHECK(to_string(Outcome::kNotDone) == "not_done");
}

}  // namespace
}  // namespace sparkplan
