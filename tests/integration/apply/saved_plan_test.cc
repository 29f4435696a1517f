// Plans as files, on real hosts.
#include <sys/stat.h>

#include <fstream>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/lock_taker.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSections = "sysctl: {net.core.somaxconn: 8192}\nprofile_env: {HF_HOME: /mnt/hf}\n";

}  // namespace

TEST_CASE("saved plan: a plan is saved, shown and applied once, without its cluster.yaml") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  const auto made = controller.run({"plan", "-o", "change.plan", "--json"});
  require_exit(made, 0);
  controller.cluster("version: nonsense\n");
  const auto shown = controller.run({"show", "change.plan", "--json"});
  require_exit(shown, 0);
  CHECK(shown.report().at("nodes") == made.report().at("nodes"));
  require_exit(controller.run({"apply", "change.plan"}), 1);  // Fails: there is no terminal to ask on.
  require_exit(controller.run({"apply", "change.plan", "--yes", "--only", "spark-01"}), 1);
  CHECK(host.sysctl("net.core.somaxconn") == "4096");
  require_exit(controller.run({"apply", "change.plan", "--yes"}), 0);
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
  CHECK(host.login_variable("HF_HOME") == "/mnt/hf");
  const auto again = controller.run({"apply", "change.plan", "--yes"});
  require_exit(again, 5);
  CHECK(contains(again.out, "was applied before"));
  require_exit(controller.run({"show", "change.plan"}), 0);
}

TEST_CASE("saved plan: a change on the node is refused as stale, and nothing outside the plan is changed") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan", "-o", "change.plan"}), 0);
  host.set_sysctl("net.core.somaxconn", "5000");
  const auto run = controller.run({"apply", "change.plan", "--yes"});
  require_exit(run, 5);
  CHECK(contains(run.out, "since the plan was made"));
  CHECK(host.sysctl("net.core.somaxconn") == "5000");
  CHECK_FALSE(host.has(kSysctlFile));
  CHECK(host.login_variable("HF_HOME") == "/mnt/hf");
}

TEST_CASE("saved plan: one apply generates new keys and distributes them") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster("ssh_trust: {users: [operator]}\n" + nodes_of_lab(2));
  require_exit(controller.run({"plan", "-o", "trust.plan"}), 0);
  require_exit(controller.run({"apply", "trust.plan", "--yes"}), 0);
  controller.cluster("ssh_trust: {users: [operator]}\n" + nodes_of_lab(2));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("saved plan: a reinstalled machine is refused") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan", "-o", "change.plan"}), 0);
  const auto machine_id = host.text("/etc/machine-id").value();
  host.write("/etc/machine-id", "0123456789abcdef0123456789abcdef\n", 0444);
  const auto run = controller.run({"apply", "change.plan", "--yes"});
  host.write("/etc/machine-id", machine_id, 0444);
  require_exit(run, 5);
  CHECK(contains(run.out, "it is not the machine that the plan was made for"));
  CHECK(host.sysctl("net.core.somaxconn") == "4096");
}

TEST_CASE("saved plan: a machine with a new trusted host key is refused") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan", "-o", "change.plan"}), 0);
  host.shell(
      "cp -a /etc/ssh /etc/ssh-before; rm -f /etc/ssh/ssh_host_*; ssh-keygen -q -t ed25519 -N '' -f "
      "/etc/ssh/ssh_host_ed25519_key && systemctl restart ssh");
  std::ofstream(controller.known_hosts(), std::ios::trunc) << "10.77.0.1 " << host.public_key() << "\n";
  const auto run = controller.run({"apply", "change.plan", "--yes"});
  host.shell("rm -r /etc/ssh && mv /etc/ssh-before /etc/ssh && systemctl restart ssh");
  require_exit(run, 5);
  CHECK(contains(run.out, "host key"));
  CHECK(host.sysctl("net.core.somaxconn") == "4096");
  CHECK_FALSE(host.has(kSysctlFile));
}

TEST_CASE("saved plan: a node that leaves with the plan is released") {
  const Host first(1);
  const Host second(2);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan", "--yes-prune", "-o", "leave.plan"}), 0);
  CHECK(contains(controller.run({"show", "leave.plan"}).out, "spark-02"));
  require_exit(controller.run({"apply", "leave.plan", "--yes"}), 9);
  CHECK(second.has(kSysctlFile));
  require_exit(controller.run({"apply", "leave.plan", "--yes", "--yes-prune"}), 0);
  CHECK_FALSE(second.has(kSysctlFile));
  CHECK_FALSE(second.has(kAgentFile));
  CHECK_FALSE(second.has(kManifestFile));
  CHECK(first.has(kSysctlFile));
}

TEST_CASE("saved plan: another active run refuses the apply by name, and the plan stays usable") {
  const Host host(1);
  const Controller controller;
  controller.cluster(kSections + nodes_of_lab(1));
  require_exit(controller.run({"plan", "-o", "change.plan"}), 0);
  {
    const LockTaker other(host, "anna@laptop");
    const auto run = controller.run({"apply", "change.plan", "--yes"});
    require_exit(run, 6);
    CHECK(contains(run.out, "anna@laptop"));
  }
  require_exit(controller.run({"apply", "change.plan", "--yes", "--lock-timeout", "5s"}), 0);
}

}  // namespace sparkplan::test
