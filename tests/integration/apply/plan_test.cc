// `plan` and `validate` change nothing.
#include <algorithm>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/terminal.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections = R"(
sysctl: {net.core.somaxconn: 8192}
profile_env: {HF_HOME: /mnt/models/hf}
hosts: {suffix: -fabric}
)";

/// Returns the paths that differ, without the agent and its directories.
Words differences(const std::map<std::string, std::string>& before, const std::map<std::string, std::string>& after) {
  Words paths;
  const auto compare = [&](const auto& from, const auto& to, const char* sign) {
    for (const auto& [path, what] : from) {
      const auto found = to.find(path);
      if (path.starts_with("/usr/local/libexec") || (found != to.end() && found->second == what)) continue;
      paths.push_back(sign + path);
    }
  };
  compare(before, after, "- ");
  compare(after, before, "+ ");
  return paths;
}

void plan_leaves_the_tree_alone(const std::string& user) {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1, user));
  const auto before = host.tree();
  REQUIRE(before.size() > 1000);
  require_exit(controller.run({"plan"}), 0);
  const auto after = host.tree();
  CHECK(differences(before, after) == Words{});
  CHECK(host.has(kAgentFile));
}

TEST_CASE("plan: installs the agent on a node and changes no other file, as root") {
  plan_leaves_the_tree_alone("root");
}

TEST_CASE("plan: installs the agent on a node and changes no other file, with sudo") {
  plan_leaves_the_tree_alone("operator");
}

TEST_CASE("plan: changes nothing on an applied node") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto before = host.tree();
  require_exit(controller.run({"plan"}), 0);
  require_exit(controller.run({"drift"}), 0);
  require_exit(controller.run({"status"}), 0);
  CHECK(differences(before, host.tree()) == Words{});
}

TEST_CASE("plan: the JSON output is valid under its schema") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  const auto plan = controller.run({"plan", "--json"});
  require_exit(plan, 0);
  const auto report = plan.report();
  CHECK(report.at("command") == "plan");
  CHECK(report.at("cluster") == "lab");
  CHECK(report.at("summary").at("create") == 8);
  CHECK(node_in(report, "spark-01").at("status") == "pending");
  CHECK(node_in(report, "spark-01").at("membership") == "joining");
  const auto change = change_in(report, "spark-02/sysctl/net.core.somaxconn");
  REQUIRE_FALSE(change.is_null());
  CHECK(change.at("origin") == "config");
  CHECK(change.at("action") == "create");
  CHECK(change.at("source").at("line") == 4);
}

TEST_CASE("plan: the file may be named by $SPARKPLAN_CLUSTER or on the command line") {
  const Host host(1);
  const Controller controller;
  controller.file("other.yaml", "version: 1\nname: lab\nsysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 1);
  require_exit(controller.run({"plan", "other.yaml"}), 0);
  auto command = controller.command({"plan"});
  const auto program = std::find(command.begin(), command.end(), SPARKPLAN_PROGRAM);
  command.insert(program, "SPARKPLAN_CLUSTER=other.yaml");
  CHECK(run_program(command).exit_status == 0);
}

TEST_CASE("plan: an invalid file prints all findings and contacts no node") {
  const Host host(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\nprofil_env: {A: b}\nssh: {usr: x}\n" + nodes_of_lab(1));
  for (const Words& command :
       {Words{"validate"}, Words{"plan"}, Words{"apply", "--yes"}, Words{"drift"}, Words{"status"}}) {
    INFO(command.front());
    const auto run = controller.run(command);
    require_exit(run, 3);
    CHECK(contains(run.err, "cluster.yaml:4:1"));
    CHECK(contains(run.err, "profile_env"));  // The suggested name.
    CHECK(contains(run.err, "usr"));
  }
  CHECK_FALSE(host.has(kAgentFile));
}

TEST_CASE("apply: without a terminal and without --yes it contacts no node") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  const auto run = controller.run({"apply"});
  require_exit(run, 1);
  CHECK(contains(run.err, "--yes"));
  CHECK_FALSE(host.has(kAgentFile));
}

TEST_CASE("apply: answering no writes nothing") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  for (const std::string answer : {"n\n", "\n", "\x04"}) {
    Terminal terminal(controller.command({"apply"}));
    REQUIRE(terminal.wait_for("Apply these changes?"));
    terminal.type(answer);
    CHECK(terminal.finish() == 1);
    INFO(terminal.transcript());
    CHECK(contains(terminal.transcript(), "net.core.somaxconn"));
    CHECK(contains(terminal.transcript(), "Nothing was changed"));
  }
  CHECK_FALSE(host.has(kSysctlFile));
  CHECK_FALSE(host.has("/var/lib/sparkplan"));
  CHECK(host.sysctl("net.core.somaxconn") == "4096");
}

TEST_CASE("apply: answering yes makes the changes shown") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  Terminal terminal(controller.command({"apply"}));
  REQUIRE(terminal.wait_for("Apply these changes?"));
  terminal.type("y\n");
  CHECK(terminal.finish() == 0);
  INFO(terminal.transcript());
  CHECK(contains(terminal.transcript(), "Applied"));
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
}

}  // namespace
}  // namespace sparkplan::test
