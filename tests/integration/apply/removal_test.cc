// Settings removed from cluster.yaml are removed from the nodes, and the earlier values are restored.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

TEST_CASE("removal: a removed key leaves the node's file, and the kernel gets its old value back") {
  const Host host(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192, net.ipv4.tcp_fin_timeout: 30}\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  REQUIRE(host.sysctl("net.ipv4.tcp_fin_timeout") == "30");
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  const auto plan = controller.run({"plan", "--json"});
  CHECK(change_in(plan.report(), "spark-01/sysctl/net.ipv4.tcp_fin_timeout").at("action") == "remove");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.sysctl("net.ipv4.tcp_fin_timeout") == "60");
  CHECK(host.sysctl_at_boot("net.ipv4.tcp_fin_timeout").empty());
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("removal: a removal after several changes restores the value from before sparkplan") {
  const Host host(1);
  const Controller controller;
  for (const std::string value : {"8192", "9000", "10000"}) {
    controller.cluster("sysctl: {net.core.somaxconn: " + value + "}\n" + nodes_of_lab(1));
    require_exit(controller.run({"apply", "--yes"}), 0);
  }
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.sysctl("net.core.somaxconn") == "4096");
}

TEST_CASE("removal: a managed file is removed with its last resource") {
  const Host host(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\nprofile_env: {HF_HOME: /mnt}\nhosts: {suffix: -fabric}\n" +
                     nodes_of_lab(1));
  const auto hosts_before = host.text(kHostsFile);
  require_exit(controller.run({"apply", "--yes"}), 0);
  REQUIRE(host.has(kSysctlFile));
  REQUIRE(host.text(kHostsFile) != hosts_before);
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK_FALSE(host.has(kSysctlFile));
  CHECK_FALSE(host.has(kProfileFile));
  CHECK(host.text(kHostsFile) == hosts_before);
  CHECK(host.login_variable("HF_HOME").empty());
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("removal: an /etc/hosts that sparkplan created is removed") {
  const Host host(Lab::kHosts);
  const Controller controller;
  const std::string nodes = "ssh: {user: root}\nnodes: [{name: spark-08, address: 10.77.0.8}]\n";
  controller.cluster("hosts: {suffix: -fabric}\n" + nodes);
  require_exit(controller.run({"apply", "--yes"}), 0);
  REQUIRE(host.has(kHostsFile));
  controller.cluster(nodes);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK_FALSE(host.has(kHostsFile));
}

TEST_CASE("removal: a file that was at the managed path before is restored") {
  const Host host(1);
  const Controller controller;
  host.write(kProfileFile, "export SOMEBODY=else\n", 0640);
  controller.cluster("profile_env: {HF_HOME: /mnt}\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.login_variable("HF_HOME") == "/mnt");
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.text(kProfileFile) == "export SOMEBODY=else\n");
  CHECK(host.shell("stat -c '%a %U:%G' " + kProfileFile) == "640 root:root");
}

TEST_CASE("removal: a value changed by hand is left unchanged") {
  const Host host(1);
  const Controller controller;
  controller.cluster("sysctl: {net.core.somaxconn: 8192, net.ipv4.tcp_fin_timeout: 30}\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  host.set_sysctl("net.ipv4.tcp_fin_timeout", "45");
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  const auto plan = controller.run({"plan", "--json"});
  CHECK(node_in(plan.report(), "spark-01").at("kept_orphans") ==
        Json::array({"spark-01/sysctl/net.ipv4.tcp_fin_timeout"}));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.sysctl("net.ipv4.tcp_fin_timeout") == "45");
}

TEST_CASE("removal: removing most managed resources requires --yes-prune") {
  const Host host(1);
  const Host second(2);
  const Controller controller;
  const std::string many =
      "sysctl: {net.core.somaxconn: 8192, net.ipv4.tcp_fin_timeout: 30, net.ipv4.tcp_syncookies: 2,\n"
      "  net.ipv4.tcp_keepalive_time: 600, net.ipv4.tcp_keepalive_probes: 5, net.ipv4.tcp_retries2: 8}\n";
  controller.cluster(many + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(2));
  const auto before = host.identity(kSysctlFile);
  const auto manifest = host.identity(kManifestFile);
  require_exit(controller.run({"plan"}), 0);

  const auto refused = controller.run({"apply", "--yes"});
  require_exit(refused, 9);
  CHECK(contains(refused.out + refused.err, "--yes-prune"));
  CHECK(host.identity(kSysctlFile) == before);
  CHECK(host.identity(kManifestFile) == manifest);
  CHECK(second.sysctl("net.ipv4.tcp_fin_timeout") == "30");

  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(host.sysctl("net.ipv4.tcp_fin_timeout") == "60");
  CHECK(second.sysctl("net.ipv4.tcp_keepalive_time") == "7200");
}

}  // namespace
}  // namespace sparkplan::test
