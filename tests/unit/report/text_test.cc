#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "engine/core/keyed_digest.h"
#include "engine/report/changes/change_text.h"
#include "engine/report/plan/report.h"
#include "tests/support/catch.h"
#include "tests/support/has.h"
#include "tests/support/source_folder.h"
#include "tests/unit/process/cost.h"
#include "tests/unit/report/golden.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using testing::check_golden;
using testing::sample_change;
using testing::sample_node;
using testing::sample_report;
using testing::sample_reports;

using test::has;

std::string last_line(const std::string& text) {
  const auto end = text.rfind('\n', text.size() - 2);
  return end == std::string::npos ? text : text.substr(end + 1);
}

TEST_CASE("every sample is printed as accepted") {
  for (const auto& [name, report] : sample_reports()) check_golden(name, to_text(report, {}));
}

TEST_CASE("colour adds to the text and does not change it") {
  TextStyle style;
  style.color = true;
  for (const auto& [name, report] : sample_reports()) {
    std::string plain;
    const std::string coloured = to_text(report, style);
    for (std::size_t i = 0; i < coloured.size(); ++i) {
      if (coloured[i] == '\x1b')
        i = coloured.find('m', i);
      else
        plain += coloured[i];
    }
    CHECK(plain == to_text(report, {}));
    if (name == "plan-example") check_golden("plan-example-colour", coloured);
  }
}

TEST_CASE("no sample prints a control character") {
  for (const auto& [name, report] : sample_reports()) {
    for (const char byte : to_text(report, {})) {
      const auto code = static_cast<unsigned char>(byte);
      REQUIRE((code >= 0x20 || byte == '\n' || byte == '\t'));
      REQUIRE(code != 0x7f);
    }
  }
}

TEST_CASE("no line ends in blanks") {
  for (const auto& [name, report] : sample_reports()) {
    INFO(name);
    CHECK_FALSE(has(to_text(report, {}), " \n"));
  }
}

TEST_CASE("quiet omits what needs no attention, and keeps the last line") {
  TextStyle style;
  style.quiet = true;
  for (const auto& [name, report] : sample_reports()) {
    const std::string text = to_text(report, style);
    CHECK_FALSE(has(text, "in sync\n"));
    CHECK_FALSE(has(text, "note:"));
    CHECK(last_line(text) == last_line(to_text(report, {})));
  }
}

TEST_CASE("a harmless foreign setting is listed below a node in sync, except with quiet") {
  NodeReport node = sample_node(1);
  node.plan.changes = {sample_change("limits/*:memlock", Action::kUpdate, {}, Origin::kForeign)};
  node.plan.changes[0].note = "/etc/security/limits.conf says it more than once";
  const Report report = sample_report("drift", {node, sample_node(2)});
  const std::string text = to_text(report, {});
  INFO(text);
  CHECK(has(text, "  ! limits  *:memlock  spark-01\n      /etc/security/limits.conf says it more than once"));
  CHECK(has(text, "= spark-[01-02] in sync\n"));
  CHECK_FALSE(has(text, "Foreign"));
  TextStyle quiet;
  quiet.quiet = true;
  CHECK(to_text(report, quiet) == last_line(text));
}

TEST_CASE("nodes in sync can be omitted") {
  TextStyle style;
  style.show_in_sync = false;
  CHECK_FALSE(has(to_text(sample_reports()[0].second, style), "in sync"));
}

TEST_CASE("more than three addresses are folded in the same way as names") {
  std::vector<NodeReport> nodes;
  for (int number = 1; number <= 4; ++number) {
    nodes.push_back(sample_node(number, NodeStatus::kPending));
    nodes.back().membership = Membership::kJoining;
  }
  CHECK(has(to_text(sample_report("plan", nodes), {}), "+ spark-[01-04] (10.0.0.[11-14]) joining the cluster\n"));
}

TEST_CASE("a node in sync that joins, and a skipped one, say what an apply does to them") {
  NodeReport node = sample_node(1);
  node.membership = Membership::kJoining;
  CHECK(has(to_text(sample_report("plan", {node}), {}),
            "in sync, joining the cluster: apply only records it as a member\n"));
  node.status = NodeStatus::kSkipped;
  CHECK(has(to_text(sample_report("plan", {node}), {}), "  spark-01 skipped\n"));
}

TEST_CASE("a stored value is shown as the value at boot") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {
      sample_change("x/y", Action::kUpdate, {{"persistent.mtu", 1500, 9000}, {"up", false, true}, {"a", 1, 2}})};
  CHECK(has(to_text(sample_report("plan", {node}), {}), "mtu at boot 1500 -> 9000"));
}

TEST_CASE("nodes that differ in any value are never merged") {
  std::vector<NodeReport> nodes = {sample_node(1, NodeStatus::kPending), sample_node(2, NodeStatus::kPending)};
  nodes[0].plan.changes = {sample_change("x/y", Action::kUpdate, {{"v", 1, 2}})};
  nodes[1].plan.changes = {sample_change("x/y", Action::kUpdate, {{"v", 1, 3}})};
  const std::string text = to_text(sample_report("plan", nodes), {});
  CHECK(has(text, "  ~ x  y  1 -> 2  spark-01\n  ~ x  y  1 -> 3  spark-02\n"));
}

TEST_CASE("fields with one common value are one line, with the names of those that differ") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {sample_change("x/y", Action::kUpdate, {{"running", 60, 10}})};
  node.plan.after_steps[{"x", "y"}] = Value::map({{"running", 10}, {"persistent", 10}});
  CHECK(has(to_text(sample_report("plan", {node}), {}), "  ~ x  y  60 -> 10  [running]  spark-01\n"));
  node.plan.after_steps[{"x", "y"}] = Value::map({{"running", 10}, {"other", 7}});
  CHECK(has(to_text(sample_report("plan", {node}), {}), "  ~ x  y  running 60 -> 10  spark-01\n"));
}

TEST_CASE("fields with one new value but different old values are listed separately") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {sample_change("x/y", Action::kUpdate, {{"persistent", 40, 10}, {"running", 60, 10}})};
  CHECK(has(to_text(sample_report("plan", {node}), {}), "  ~ x  y  at boot 40 -> 10, running 60 -> 10  spark-01\n"));
}

TEST_CASE("lists are shown by added and removed items, or completely if only the order differs") {
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {
      sample_change("x/y", Action::kUpdate, {{"v", Value::list({"a", "b"}), Value::list({"b", "c"})}})};
  CHECK(has(to_text(sample_report("plan", {node}), {}), "y  + c, - a  spark-01\n"));
  node.plan.changes[0].fields[0].after = Value::list({"b", "a"});
  CHECK(has(to_text(sample_report("plan", {node}), {}), "y  [a, b] -> [b, a]  spark-01\n"));
}

TEST_CASE("each command has its summary") {
  NodeReport node = sample_node(1, NodeStatus::kDrifted);
  node.plan.changes = {sample_change("x/a", Action::kUpdate, {{"v", 1, 2}}, Origin::kDrift),
                       sample_change("x/b", Action::kCreate, {{"v", 1, 2}}),
                       sample_change("x/c", Action::kRemove, {{"v", 1, Value()}})};
  const auto summary = [&](const std::string& command) {
    return last_line(to_text(sample_report(command, {node, sample_node(2)}), {}));
  };
  CHECK(summary("plan") ==
        "Plan: 1 to add, 1 to change, 1 to remove on 1 of 2 nodes. Drift: 1 change on 1 node. 0.12 s\n");
  CHECK(summary("drift") == "Drift: 1 change on 1 of 2 nodes. Pending: 2 changes on 1 node. 0.12 s\n");
  for (const Change& change : node.plan.changes) node.outcomes[change.id] = Outcome::kDone;
  CHECK(summary("apply") == "Applied: 1 added, 1 changed, 1 removed on 1 of 2 nodes. 0.12 s\n");
  node = sample_node(1);
  CHECK(summary("plan") == "Plan: nothing to do on 2 nodes. Drift: none. 0.12 s\n");
  CHECK(summary("drift") == "Drift: none on 2 nodes. Pending: none. 0.12 s\n");
  CHECK(summary("apply") == "Applied: nothing to do on 2 nodes. 0.12 s\n");
  node = sample_node(1, NodeStatus::kFailed);
  node.error = make_error(ErrorCode::kInterrupted, "stopped");
  for (const std::string command : {"plan", "drift"}) {
    CHECK(summary(command) == "Stopped before 1 of 2 nodes could be read. 0.12 s\n");
  }
  node = sample_node(1, NodeStatus::kUnreachable);
  CHECK(summary("drift") == "Drift: none on 1 of 2 nodes. Pending: none. 1 node unreachable. 0.12 s\n");
}

TEST_CASE("the verdict never claims more about drift than was compared") {
  NodeReport node = sample_node(1, NodeStatus::kSkipped);
  const auto summary = [&](const std::string& command) {
    return last_line(to_text(sample_report(command, {node}), {}));
  };
  CHECK(summary("plan") ==
        "Plan: nothing, no node was compared. Drift: not known, no node was compared. 1 node skipped. 0.12 s\n");
  CHECK(summary("drift") == "Drift: not known, no node was compared. Pending: none. 1 node skipped. 0.12 s\n");
  node = sample_node(1);
  node.plan.kept_orphans = {{"file", "/etc/motd"}};
  CHECK(summary("plan") ==
        "Plan: nothing to do on 1 node. Drift: none except 1 edited resource left unchanged. 0.12 s\n");
}

TEST_CASE("a note on a released node says that the release leaves an edit there") {
  NodeReport node = sample_node(1, NodeStatus::kReleased);
  node.membership = Membership::kLeaving;
  node.plan.kept_orphans = {{"file", "/etc/motd"}};
  const std::string text = to_text(sample_report("release", {node}), {});
  CHECK(has(text, "file /etc/motd was edited on the node after the last apply: the release leaves"));
  CHECK_FALSE(has(text, "is no longer in"));
}

TEST_CASE("a run that could not see everything never reports that there is nothing to do") {
  NodeReport node = sample_node(1);
  Report report = sample_report("plan", {node, sample_node(2)});
  for (const char* command : {"plan", "apply", "rollback"}) {
    report.command = command;
    const auto says_so = [&](const NodeReport& first, auto edit) {
      Report edited = report;
      edited.nodes[0] = first;
      edit(edited);
      return has(last_line(to_text(edited, {})), "nothing to do");
    };
    const auto nothing_else = [](Report&) {};
    CHECK(says_so(sample_node(1), nothing_else));
    CHECK(says_so(sample_node(1, NodeStatus::kSkipped), nothing_else));
    for (const NodeStatus status : {NodeStatus::kUnreachable, NodeStatus::kRefused, NodeStatus::kFailed})
      CHECK_FALSE(says_so(sample_node(1, status), nothing_else));
    CHECK_FALSE(says_so(sample_node(1), [](Report& one) { one.interrupted = true; }));
    CHECK_FALSE(says_so(sample_node(1), [](Report& one) {
      one.diagnostics.push_back({Severity::kError, "x.y", "wrong", "", "", {}, {}, ""});
    }));
    NodeReport blocked = sample_node(1, NodeStatus::kFailed);
    blocked.plan.blocked = {{{"x", "y"}, make_error(ErrorCode::kRefused, "no"), {}}};
    CHECK_FALSE(says_so(blocked, nothing_else));
  }
}

TEST_CASE("an apply that did not begin lists no change, and its verdict is that nothing was changed") {
  Report report = sample_report("apply", {sample_node(1, NodeStatus::kPending), sample_node(2, NodeStatus::kRefused)});
  report.nodes[0].plan.changes = {sample_change("x/y", Action::kUpdate, {{"v", 1, 2}})};
  report.nodes[1].error = make_error(ErrorCode::kRefused, "it belongs to another cluster");
  report.not_begun = true;
  const std::string text = to_text(report, {});
  INFO(text);
  CHECK_FALSE(has(text, "1 -> 2"));
  CHECK(last_line(text).starts_with("Not started: nothing was changed on any node. 1 node refused."));
}

TEST_CASE("the source of a secret is printed once") {
  const Value token = std::string(kUnreadSecret);
  NodeReport node = sample_node(1, NodeStatus::kPending);
  node.plan.changes = {sample_change("profile_env/HF_TOKEN", Action::kCreate, {{"value", Value(), token}})};
  node.plan.changes[0].note = "environment variable HF";
  const std::string text = to_text(sample_report("plan", {node}), {});
  INFO(text);
  CHECK(has(text, "HF_TOKEN  value (secret: environment variable HF) new  spark-01\nPlan: "));
  // A diff does not show the source.
  node.plan.changes = {sample_change("file//etc/token", Action::kUpdate, {{"content", "a\nb\n", token}})};
  node.plan.changes[0].note = "environment variable HF";
  CHECK(has(to_text(sample_report("plan", {node}), {}), "\n      environment variable HF\n"));
}

TEST_CASE("a node that could not be read is not said to join") {
  std::vector<NodeReport> nodes;
  for (const NodeStatus status : {NodeStatus::kUnreachable, NodeStatus::kFailed, NodeStatus::kRefused}) {
    nodes.push_back(sample_node(static_cast<int>(nodes.size()) + 1, status));
    nodes.back().membership = Membership::kJoining;
    nodes.back().error = make_error(ErrorCode::kFailed, "no answer");
  }
  const std::string text = to_text(sample_report("plan", nodes), {});
  INFO(text);
  CHECK_FALSE(has(text, "joining"));
  CHECK(has(text, "! spark-02 (10.0.0.12) failed: no answer\n"));
}

TEST_CASE("a forgotten node is listed with what becomes of it, and is not counted as read") {
  NodeReport gone = sample_node(2, NodeStatus::kForgotten);
  gone.membership = Membership::kLeaving;
  const std::string text = to_text(sample_report("release", {sample_node(1), gone}), {});
  INFO(text);
  CHECK(has(text, "- spark-02 (10.0.0.12) forgotten: not contacted, it keeps its configuration\n"));
  CHECK(last_line(text) == "Applied: nothing to do on 1 of 2 nodes. 1 node forgotten. 0.12 s\n");
}

TEST_CASE("a change that is blocked by a failed one is counted once") {
  NodeReport node = sample_node(1, NodeStatus::kFailed);
  node.plan.changes = {sample_change("x/first", Action::kCreate, {{"v", {}, 2}}),
                       sample_change("x/second", Action::kCreate, {{"v", {}, 2}})};
  node.outcomes = {{{"x", "first"}, Outcome::kFailed}, {{"x", "second"}, Outcome::kNotDone}};
  node.plan.blocked = {{{"x", "first"}, make_error(ErrorCode::kFailed, "no space"), {}},
                       {{"x", "second"}, make_error(ErrorCode::kFailed, "it needs x/first"), {}}};
  const std::string text = to_text(sample_report("apply", {node}), {});
  INFO(text);
  CHECK(has(text, "Failed: 1 change on 1 node. Not done: 1 change on 1 node.\n"));
  CHECK(last_line(text) == "Not applied: 0 added, 0 changed, 0 removed on 0 of 1 node. 0.12 s\n");
  CHECK(has(text, "not done  spark-01\n      it needs x/first\n"));
  CHECK_FALSE(has(text, "blocked"));
}

TEST_CASE("ten thousand blocked resources beside as many changes cost an apply little time") {
  NodeReport node;
  for (int i = 0; i < 10'000; ++i) {
    const ResourceId done{"hosts", "done" + std::to_string(i)};
    node.plan.changes.push_back({done, Action::kUpdate, Origin::kConfig, {}, {}, {}, {}, ""});
    node.outcomes[done] = Outcome::kDone;
    node.plan.blocked.push_back({{"hosts", "blocked" + std::to_string(i)}, {}, {}});
  }
  const auto cost = test::cost_of([&] {
    return std::ranges::none_of(node.plan.blocked,
                                [&](const BlockedResource& one) { return is_shown_as_change(one, node); });
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < 2);
}

TEST_CASE("thirty thousand changes that were not made, each with its reason, cost an apply little time") {
  NodeReport node;
  const std::string name(200, 'x');
  for (int i = 0; i < 30'000; ++i) {
    const ResourceId id{"hosts", name + std::to_string(i)};
    node.plan.changes.push_back({id, Action::kUpdate, Origin::kConfig, {}, {}, {}, {}, ""});
    node.outcomes[id] = Outcome::kNotDone;
    node.plan.blocked.push_back({id, make_error(ErrorCode::kFailed, "it needs x/first"), {}});
  }
  const auto cost = test::cost_of([&] {
    const auto texts = changes_of(node, "cluster.yaml", true, {});
    return texts.size() == 30'000 && texts.back().body.size() == 1;
  });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < 3);
}

TEST_CASE("the notes of thirty thousand edited resources that the file no longer has cost little time") {
  NodeReport node;
  node.name = "spark-01";
  const std::string name(200, 'x');
  for (int i = 10'000; i < 40'000; ++i) node.plan.kept_orphans.push_back({"hosts", name + std::to_string(i)});
  const Report report = sample_report("plan", {node});
  const auto cost = test::cost_of([&] { return has(to_text(report, {}), "39999 is no longer in"); });
  CHECK(cost.exit_status == 0);
  CHECK(cost.seconds < 5);
}

TEST_CASE("a reason that a node left out leaves no dangling colon") {
  NodeReport node = sample_node(1);
  node.plan.not_applicable = {{{"netplan", "eth1"}, "", ""}};
  CHECK(has(to_text(sample_report("plan", {node}), {}), "not applicable here: netplan/eth1\n"));
}

TEST_CASE("a note shows a file by its path, without two slashes") {
  NodeReport node = sample_node(1);
  node.plan.kept_orphans = {{"file", "/etc/motd"}};
  node.plan.not_applicable = {{{"file", "/etc/issue"}, "", ""}};
  const std::string text = to_text(sample_report("plan", {node}), {});
  CHECK(has(text, "file /etc/motd is no longer in "));
  CHECK(has(text, "not applicable here: file /etc/issue\n"));
}

}  // namespace

TEST_CASE("a value that a removal restores is copied into few fields") {
  const auto removal_of = [](int number) {
    std::vector<FieldChange> fields;
    for (int i = 0; i < number; ++i) fields.push_back({"f" + std::to_string(i), "old", Value()});
    NodeReport node;
    node.name = "n1";
    node.plan.changes = {sample_change("sysctl/kernel.x", Action::kRemove, fields)};
    Step step;
    step.artifact = {"parameter", "kernel/x"};
    step.before = Present{Value::map({{"value", "old"}}), {}};
    step.after = Present{Value::map({{"value", "older"}}), {}};
    step.resources = {{"sysctl", "kernel.x"}};
    node.plan.steps = {step};
    return to_text(sample_report("plan", {std::move(node)}), {});
  };
  CHECK(has(removal_of(2), "old -> older"));
  CHECK(has(removal_of(2), "as before sparkplan"));
  // A node could name thousands of fields, and restore megabytes.
  CHECK_FALSE(has(removal_of(66), "older"));
}

TEST_CASE("the note of a foreign setting is cut where it is printed, and whole with -v") {
  NodeReport node;
  node.name = "n1";
  Change claim = sample_change("sysctl/kernel.x", Action::kUpdate, {{"persistent", "1", "2"}});
  claim.origin = Origin::kForeign;
  claim.note = std::string(std::size_t{1} << 20, 'x');
  node.plan.changes = {claim};
  const Report report = sample_report("plan", {node});
  CHECK(to_text(report, {}).size() < 8'000);
  CHECK(to_text(report, testing::verbose()).size() > claim.note.size());
}

}  // namespace sparkplan
