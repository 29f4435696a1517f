// `drift` reports foreign changes, and separates them from changes to cluster.yaml.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections = R"(
sysctl: {net.core.somaxconn: 8192}
profile_env: {HF_HOME: /mnt/models/hf}
hosts: {suffix: -fabric}
)";

/// One host with kSections applied.
struct Applied {
  Applied() {
    controller.cluster(kSections + nodes_of_lab(1));
    require_exit(controller.run({"apply", "--yes"}), 0);
  }
  const Host host{1};
  const Controller controller;
};

TEST_CASE("drift: installs no agent on a node and prints what to do") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  const auto run = controller.run({"drift"});
  require_exit(run, 4);
  CHECK(contains(run.out + run.err, "sparkplan plan"));
  CHECK_FALSE(host.has(kAgentFile));
}

TEST_CASE("drift: a managed node whose agent was removed is failed, not drifted") {
  const Applied applied;
  applied.host.remove(kAgentFile);
  const auto run = applied.controller.run({"drift", "--json"});
  require_exit(run, 4);
  const auto report = run.report();
  const auto& node = node_in(report, "spark-01");
  CHECK(node.at("status") == "failed");
  CHECK(contains(node.at("error").at("hint").get<std::string>(), "sparkplan plan"));
  CHECK_FALSE(applied.host.has(kAgentFile));
  require_exit(applied.controller.run({"plan", "--detailed-exitcode"}), 0);
  require_exit(applied.controller.run({"drift"}), 0);
}

TEST_CASE("drift: a node that was never applied is pending") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan"}), 0);
  const auto run = controller.run({"drift", "--json"});
  require_exit(run, 0);
  CHECK(node_in(run.report(), "spark-01").at("status") == "pending");
  require_exit(controller.run({"drift", "--pending"}), 2);
}

TEST_CASE("drift: a value changed only in cluster.yaml is pending, not drift") {
  const Applied applied;
  applied.controller.cluster(
      "sysctl: {net.core.somaxconn: 9000}\nprofile_env: {HF_HOME: /mnt/models/hf}\n"
      "hosts: {suffix: -fabric}\n" +
      nodes_of_lab(1));
  const auto run = applied.controller.run({"drift", "--json"});
  require_exit(run, 0);
  const auto report = run.report();
  CHECK(report.at("summary").at("drifted") == 0);
  CHECK(change_in(report, "spark-01/sysctl/net.core.somaxconn").at("origin") == "config");
  require_exit(applied.controller.run({"drift", "--pending"}), 2);
  require_exit(applied.controller.run({"plan", "--detailed-exitcode"}), 2);
}

TEST_CASE("drift: a value changed by hand is drift even if the file changed too") {
  const Applied applied;
  applied.controller.cluster(
      "sysctl: {net.core.somaxconn: 9000}\nprofile_env: {HF_HOME: /mnt/models/hf}\n"
      "hosts: {suffix: -fabric}\n" +
      nodes_of_lab(1));
  applied.host.set_sysctl("net.core.somaxconn", "128");
  const auto run = applied.controller.run({"drift", "--json"});
  require_exit(run, 2);
  const auto report = run.report();
  CHECK(report.at("summary").at("drifted") == 1);
  CHECK(node_in(report, "spark-01").at("status") == "drifted");
  CHECK(change_in(report, "spark-01/sysctl/net.core.somaxconn").at("origin") == "drift");
  require_exit(applied.controller.run({"apply", "--yes"}), 0);
  CHECK(applied.host.sysctl("net.core.somaxconn") == "9000");
}

TEST_CASE("drift: a line added by hand to a managed file is found and removed") {
  const Applied applied;
  struct Case {
    std::string file, line, id;
  };
  const std::vector<Case> cases{
      {kSysctlFile, "net.ipv4.tcp_fin_timeout = 30\n", "spark-01/sysctl/@file"},
      {kProfileFile, "export EXTRA=1\n", "spark-01/profile_env/@file"},
  };
  for (const auto& [file, line, id] : cases) {
    INFO(file);
    const auto before = applied.host.text(file);
    applied.host.append(file, line);
    const auto run = applied.controller.run({"drift", "--json"});
    require_exit(run, 2);
    const auto change = change_in(run.report(), id);
    REQUIRE_FALSE(change.is_null());
    CHECK(change.at("origin") == "drift");
    require_exit(applied.controller.run({"apply", "--yes"}), 0);
    CHECK(applied.host.text(file) == before);
    require_exit(applied.controller.run({"drift"}), 0);
  }
}

TEST_CASE("drift: a deleted managed file is found and restored") {
  const Applied applied;
  for (const auto& file : {kSysctlFile, kProfileFile}) {
    INFO(file);
    const auto before = applied.host.text(file);
    applied.host.remove(file);
    require_exit(applied.controller.run({"drift"}), 2);
    require_exit(applied.controller.run({"apply", "--yes"}), 0);
    CHECK(applied.host.text(file) == before);
  }
}

TEST_CASE("drift: a changed mode is found and restored") {
  const Applied applied;
  applied.host.shell("chmod 0666 " + kSysctlFile);
  require_exit(applied.controller.run({"drift"}), 2);
  require_exit(applied.controller.run({"apply", "--yes"}), 0);
  CHECK(applied.host.shell("stat -c %a " + kSysctlFile) == "644");
}

TEST_CASE("drift: lines outside the managed block of /etc/hosts are no drift") {
  const Applied applied;
  applied.host.append(kHostsFile, "10.1.2.3 printer\n");
  require_exit(applied.controller.run({"drift"}), 0);
  applied.host.shell("sed -i 's/^10.77.0.1 spark-01-fabric/10.77.0.99 spark-01-fabric/' /etc/hosts");
  require_exit(applied.controller.run({"drift"}), 2);
  require_exit(applied.controller.run({"apply", "--yes"}), 0);
  CHECK(applied.host.resolve("spark-01-fabric") == "10.77.0.1");
  CHECK(applied.host.resolve("printer") == "10.1.2.3");
}

TEST_CASE("drift: a foreign sysctl file that wins at boot is reported as foreign") {
  const Applied applied;
  applied.host.write("/etc/sysctl.d/99-lab.conf", "# tuning\nnet.core.somaxconn = 1024\n");
  REQUIRE(applied.host.sysctl_at_boot("net.core.somaxconn") == "1024");
  const auto run = applied.controller.run({"drift", "--json"});
  require_exit(run, 2);
  const auto report = run.report();
  const auto change = change_in(report, "spark-01/sysctl/net.core.somaxconn");
  REQUIRE_FALSE(change.is_null());
  CHECK(change.at("origin") == "foreign");
  CHECK(contains(change.at("note").get<std::string>(), "/etc/sysctl.d/99-lab.conf:2"));
  CHECK(report.at("summary").at("drifted") == 0);
  CHECK(report.at("summary").at("foreign") == 1);

  const auto plan = applied.controller.run({"plan"});
  require_exit(plan, 0);
  CHECK(contains(plan.out, "! sysctl"));
  CHECK(contains(plan.out, "99-lab.conf"));

  const auto before = applied.host.identity(kSysctlFile);
  (void)applied.controller.run({"apply", "--yes"});
  CHECK(applied.host.identity(kSysctlFile) == before);
  CHECK(applied.host.text("/etc/sysctl.d/99-lab.conf") == "# tuning\nnet.core.somaxconn = 1024\n");
}

TEST_CASE("drift: an apply restores a value changed at runtime, without rewriting the file") {
  const Applied applied;
  const auto before = applied.host.identity(kSysctlFile);
  applied.host.set_sysctl("net.core.somaxconn", "128");
  require_exit(applied.controller.run({"apply", "--yes"}), 0);
  CHECK(applied.host.sysctl("net.core.somaxconn") == "8192");
  CHECK(applied.host.identity(kSysctlFile) == before);
}

}  // namespace
}  // namespace sparkplan::test
