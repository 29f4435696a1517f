// The example session of the README, checked with the tools that an administrator would use.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections = R"(
sysctl: {net.core.somaxconn: 8192, net.ipv4.tcp_syncookies: 2}
profile_env: {HF_HOME: "/mnt/models/it's $HOME"}
hosts: {suffix: -fabric}
)";

void require_configured(const Host& host) {
  INFO("on " << host.name());
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(host.sysctl("net.ipv4.tcp_syncookies") == "2");
  CHECK(host.sysctl_at_boot("net.core.somaxconn") == "8192");
  CHECK(host.sysctl_at_boot("net.ipv4.tcp_syncookies") == "2");
  CHECK(host.login_variable("HF_HOME") == "/mnt/models/it's $HOME");
  CHECK(host.login_variable("HF_HOME", "root") == "/mnt/models/it's $HOME");
  CHECK(host.resolve("spark-01-fabric") == "10.77.0.1");
  CHECK(host.resolve("spark-02-fabric") == "10.77.0.2");
}

/// validate, plan, apply, plan, a foreign change of a value, drift, apply, plan.
void play_session(const std::string& user) {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2, user));

  require_exit(controller.run({"validate"}), 0);
  CHECK_FALSE(first.has(kAgentFile));

  const auto plan = controller.run({"plan"});
  require_exit(plan, 0);
  CHECK(contains(plan.out, "net.core.somaxconn"));
  CHECK(contains(plan.out, "4096 -> 8192"));
  CHECK(contains(plan.out, "HF_HOME"));
  CHECK(contains(plan.out, "Plan: 10 to add"));
  CHECK(first.sysctl("net.core.somaxconn") == "4096");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 2);

  require_exit(controller.run({"apply", "--yes"}), 0);
  require_configured(first);
  require_configured(second);

  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  require_exit(controller.run({"drift"}), 0);

  first.set_sysctl("net.core.somaxconn", "128");
  const auto drift = controller.run({"drift"});
  require_exit(drift, 2);
  CHECK(contains(drift.out, "128 -> 8192"));
  CHECK(contains(drift.out, "spark-01"));
  CHECK(first.sysctl("net.core.somaxconn") == "128");

  // The file is unchanged, so the report lists only the running value.
  const auto mended = controller.run({"apply", "--yes"});
  require_exit(mended, 0);
  CHECK(contains(mended.out, "128 -> 8192  [running]"));
  require_configured(first);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("session: the README's session as the SSH user root") { play_session("root"); }

TEST_CASE("session: the README's session as an ordinary user with sudo") { play_session("operator"); }

TEST_CASE("session: nodes of one cluster may have different SSH users") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(R"(
sysctl: {net.core.somaxconn: 8192}
nodes:
  - {name: spark-01, address: 10.77.0.1, ssh: {user: root}}
  - {name: spark-02, address: 10.77.0.2, ssh: {user: operator}}
)");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first.sysctl("net.core.somaxconn") == "8192");
  CHECK(second.sysctl("net.core.somaxconn") == "8192");
}

TEST_CASE("session: a node without /etc/hosts gets one that all users can read") {
  const Host host(Lab::kHosts);
  const Controller controller;
  controller.cluster(R"(
hosts: {suffix: -fabric}
ssh: {user: operator}
nodes: [{name: spark-08, address: 10.77.0.8}]
)");
  REQUIRE_FALSE(host.has(kHostsFile));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.resolve("spark-08-fabric") == "10.77.0.8");
  CHECK(host.shell("stat -c '%a %U:%G' /etc/hosts") == "644 root:root");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("session: a second apply writes nothing") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  const Host second(2);
  require_exit(controller.run({"apply", "--yes"}), 0);
  std::map<std::string, std::string> before;
  for (const auto& file : {kSysctlFile, kProfileFile, kHostsFile, kManifestFile, kJournalDirectory, kAgentFile}) {
    before[file] = host.identity(file);
  }
  const auto again = controller.run({"apply", "--yes", "--json"});
  require_exit(again, 0);
  const auto report = again.report();
  CHECK(node_in(report, "spark-01").at("status") == "in_sync");
  for (const auto& [file, identity] : before) {
    INFO(file);
    CHECK(host.identity(file) == identity);
  }
}

TEST_CASE("session: applied settings survive a reboot") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  Lab::get().reboot(1);
  require_configured(host);
  require_exit(controller.run({"drift"}), 0);
}

TEST_CASE("session: files on the node belong to root and have the expected modes") {
  const Host host(1);
  const Controller controller;
  controller.cluster(R"(
sysctl: {net.core.somaxconn: 8192}
profile_env: {HF_HOME: /mnt}
)" + nodes_of_lab(1, "operator"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.shell("stat -c '%a %U:%G' " + kSysctlFile) == "644 root:root");
  CHECK(host.shell("stat -c '%a %U:%G' " + kProfileFile) == "644 root:root");
  CHECK(host.shell("stat -c '%a %U:%G' /var/lib/sparkplan") == "700 root:root");
  CHECK(host.shell("stat -c '%a %U:%G' " + kAgentFile) == "755 root:root");
}

TEST_CASE("session: the JSON report of apply is valid under its schema") {
  const Host host(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  const auto applied = controller.run({"apply", "--yes", "--json"});
  require_exit(applied, 0);
  const auto report = applied.report();
  CHECK(report.at("command") == "apply");
  CHECK(node_in(report, "spark-01").at("status") == "applied");
  const auto change = change_in(report, "spark-01/sysctl/net.core.somaxconn");
  REQUIRE_FALSE(change.is_null());
  CHECK(change.at("outcome") == "done");
}

}  // namespace
}  // namespace sparkplan::test
