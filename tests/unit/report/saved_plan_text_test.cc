// The text of a saved plan, apart from its changes.
#include "engine/report/plan/saved_plan_text.h"
#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/plan/saved_plan_check.h"
#include "engine/report/plan/report.h"
#include "tests/support/catch.h"
#include "tests/unit/plan/fakes.h"
#include "tests/unit/plan/saved_samples.h"
#include "tests/unit/report/samples.h"

namespace sparkplan {
namespace {

using testing::some_plan;

const std::string kHostKey = "SHA256:" + std::string(43, 'k');

std::string member_name(int number) { return "spark-0" + std::to_string(number); }

/// Eight nodes; each waits for the keys of the other seven.
SavedPlan plan_of_eight() {
  std::vector<NodeReport> nodes;
  for (int number = 1; number <= 8; ++number) {
    NodeReport node = testing::sample_node(number, NodeStatus::kPending);
    Change change;
    change.id = {"ssh_trust", "nvidia"};
    change.action = Action::kCreate;
    for (int other = 1; other <= 8; ++other) {
      const Value unknown = Value::Unknown{"known after " + member_name(other) + " creates its key",
                                           member_name(other) + "/ssh_trust/nvidia"};
      change.fields.push_back({"authorized." + member_name(other), Value(), unknown});
    }
    change.fields.push_back({"config", Value(), Value::list({"spark-01"})});
    node.plan.changes = {change};
    node.plan.waiting = {change.id};
    nodes.push_back(node);
  }
  SavedPlan plan = some_plan(testing::sample_report("plan", nodes));
  plan.machines.clear();
  for (const NodeReport& node : nodes) plan.machines[node.name] = {std::string(32, '0'), kHostKey};
  return plan;
}

/// A cluster of the nodes in the plan, at the addresses in the plan.
Cluster cluster_of(const SavedPlan& plan) {
  Cluster cluster;
  cluster.name = plan.report.cluster;
  for (const NodeReport& node : plan.report.nodes) {
    NodeSpec spec{*NodeName::parse(node.name), 1, node.address, {}, TransportKind::kSsh, {}, false, {}, {}, {}};
    spec.ssh.user = "nvidia";
    spec.sections["ssh_trust"] = Value::map();
    cluster.nodes.push_back(std::move(spec));
  }
  return cluster;
}

TextStyle wide_columns(int width) {
  TextStyle style;
  style.width = width;
  return style;
}

using testing::widest_line;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string shown(const SavedPlan& plan, const Cluster& cluster) {
  return to_text(plan, cluster, Registry({}), wide_columns(80));
}

}  // namespace

TEST_CASE("a plan lists each machine with its full identity and its connection") {
  const auto plan = plan_of_eight();
  auto cluster = cluster_of(plan);
  cluster.nodes[1].ssh.port = 2222;
  cluster.nodes[1].ssh.jump = "ops@bastion";
  cluster.nodes[1].ssh.identity = "~/.ssh/lab";
  cluster.nodes[1].ssh.host_keys = HostKeyPolicy::kAcceptNew;
  cluster.nodes[2].ssh.host_key = kHostKey;
  cluster.nodes[2].ssh.become = Become::kNone;
  cluster.nodes[4].ssh.port_given = true;
  cluster.nodes[5].ssh.user.clear();
  cluster.nodes[3].transport = TransportKind::kLocal;
  cluster.nodes[3].root = "/srv/image";
  const auto text = shown(plan, cluster);
  INFO(text);
  CHECK(contains(text, "  spark-01  nvidia@" + plan.report.nodes[0].address + "\n"));
  CHECK(contains(text, "  spark-05  nvidia@" + plan.report.nodes[4].address + ":22\n"));
  CHECK(contains(text, "  spark-06  " + plan.report.nodes[5].address + "\n"));
  CHECK(contains(text, "nvidia@" + plan.report.nodes[1].address + ":2222, through ops@bastion, with the key"));
  CHECK(contains(text, "accepts an unknown host key"));
  CHECK(contains(text, "without sudo, host key pinned by the plan"));
  CHECK(contains(text, "the directory /srv/image (local)"));
  CHECK(contains(text, "machine-id " + std::string(32, '0')));
  CHECK(contains(text, "host key " + kHostKey));
}

TEST_CASE("a waiting value is listed with its reason, once for equal nodes, and within 80 columns") {
  const auto plan = plan_of_eight();
  const auto text = shown(plan, cluster_of(plan));
  INFO(text);
  CHECK(contains(text, "spark-[01-08]\n  ssh_trust  nvidia\n"));
  CHECK(contains(text, "authorized.spark-02: known after spark-02 creates its key"));
  CHECK(contains(text, "then it is created"));
  CHECK(contains(text, "the values shown below stay as shown"));
  CHECK(widest_line(text) <= 80);
}

TEST_CASE("a node outside the plan is listed, without a machine") {
  auto plan = plan_of_eight();
  plan.machines.erase("spark-03");
  plan.report.nodes[2].plan = {};
  plan.report.nodes[2].status = NodeStatus::kUnreachable;
  plan.report.nodes[2].error = Error{ErrorCode::kUnreachable, "no route to host", {}, {}, ""};
  CHECK(contains(shown(plan, cluster_of(plan)), "spark-03: skipped, it was not planned"));
}

TEST_CASE("all texts of a plan and of its cluster are escaped before the terminal") {
  const std::string evil = "\x1b[2J\xe2\x80\xae";
  auto plan = plan_of_eight();
  auto cluster = cluster_of(plan);
  plan.report.file = plan.report.cluster = plan.created = plan.sparkplan_version = evil;
  plan.only = {evil};
  plan.machines["spark-01"] = {evil, evil};
  plan.report.nodes[0].plan.changes[0].id.name = evil;
  plan.report.nodes[0].plan.changes[0].note = evil;
  plan.report.nodes[0].plan.changes[0].fields[0] = {evil, evil, Value::Unknown{evil, evil}};
  plan.report.nodes[0].plan.waiting[0].name = evil;
  cluster.nodes[0].ssh.user = cluster.nodes[0].ssh.jump = cluster.nodes[0].ssh.identity = evil;
  cluster.nodes[0].address = evil;
  cluster.nodes[1].transport = TransportKind::kLocal;
  cluster.nodes[1].root = evil;
  const auto text = shown(plan, cluster);
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK_FALSE(contains(text, "\xe2\x80\xae"));
}

TEST_CASE("a displayed plan that does not match its cluster.yaml is refused") {
  testing::Bench bench;
  auto plan = plan_of_eight();
  for (auto& node : plan.report.nodes) {
    node.plan.changes[0].id.type = "trust";
    node.plan.waiting[0].type = "trust";
  }
  plan.only.clear();
  auto cluster = cluster_of(plan);
  cluster.config_digest = plan.report.config_digest;
  for (auto& spec : cluster.nodes) spec.sections["trust"] = Value::map();
  const std::vector<Diagnostic> findings{{Severity::kWarning, "a.warning", "beware", "", "", {}, {}, ""}};
  plan.report.diagnostics = findings;
  const auto check = [&](auto edit) {
    auto edited = plan;
    edit(edited);
    return check_belongs(edited, cluster, findings, bench.registry);
  };
  REQUIRE(check([](SavedPlan&) {}));
  CHECK_FALSE(check([](SavedPlan& one) { one.report.nodes[0].address = "10.0.0.99"; }));
  CHECK_FALSE(check([](SavedPlan& one) { one.report.nodes[0].name = "spark-99"; }));
  CHECK_FALSE(check([](SavedPlan& one) { one.report.nodes.pop_back(); }));
  CHECK_FALSE(check([](SavedPlan& one) { one.report.nodes[0].membership = Membership::kLeaving; }));
  CHECK_FALSE(check([](SavedPlan& one) { one.report.cluster = "other"; }));
  CHECK_FALSE(check([](SavedPlan& one) { one.report.config_digest = std::string(64, 'b'); }));
  CHECK_FALSE(check([](SavedPlan& one) { one.report.diagnostics.clear(); }));
  CHECK_FALSE(check([](SavedPlan& one) { one.report.partial = true; }));
  CHECK_FALSE(check([](SavedPlan& one) { one.only = {"spark-01"}; }));
  CHECK_FALSE(check([](SavedPlan& one) { one.report.nodes[0].plan.changes[0].id.type = "link"; }));
  const auto unknown = check([](SavedPlan& one) { one.report.nodes[0].plan.changes[0].id.type = "no_such_type"; });
  REQUIRE_FALSE(unknown);
  CHECK(unknown.error().code == ErrorCode::kUnsupported);
}

}  // namespace sparkplan
