// Kernel modules on real hosts. A container may not load a module; the virtual machines test loading.
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kLoadFile = "/etc/modules-load.d/90-sparkplan.conf";
const std::string kOptionsFile = "/etc/modprobe.d/90-sparkplan.conf";

/// The name of any module that the kernel of this machine lists.
std::string loaded_module(const Host& host) {
  return host.shell("ls /sys/module | grep -x '[a-z][a-z0-9]*' | head -n 1");
}

}  // namespace

TEST_CASE("kernel_module: a loaded module is also loaded at boot with its options, until it is removed from the file") {
  const Host host(1);
  const Controller controller;
  const std::string module = loaded_module(host);
  REQUIRE_FALSE(module.empty());
  controller.cluster("kernel_modules: [{name: " + module + ", options: \"sparkplan_test=1\"}]\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(contains(host.text(kLoadFile).value_or(""), "\n" + module + "\n"));
  CHECK(contains(host.shell("modprobe --showconfig"), "options " + module + " sparkplan_test=1"));
  CHECK(contains(host.shell("systemd-analyze cat-config modules-load.d"), module));
  const auto before = host.identity(kLoadFile);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(host.identity(kLoadFile) == before);

  host.write("/etc/modprobe.d/zz-lab.conf", "blacklist " + module + "\n");
  const auto drift = controller.run({"drift", "--json"});
  host.remove("/etc/modprobe.d/zz-lab.conf");
  require_exit(drift, 2);
  CHECK(change_in(drift.report(), "spark-01/kernel_module/" + module).at("origin") == "foreign");

  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK_FALSE(host.has(kLoadFile));
  CHECK_FALSE(host.has(kOptionsFile));
}

TEST_CASE("kernel_module: a missing module fails before any write, and all other changes are made") {
  const Host host(1);
  const Controller controller;
  controller.cluster("kernel_modules: [sparkplan-no-such]\nsysctl: {net.core.somaxconn: 8192}\n" + nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 4);
  CHECK(contains(run.out, "no module sparkplan_no_such"));
  CHECK_FALSE(host.has(kLoadFile));
  CHECK(host.sysctl("net.core.somaxconn") == "8192");
}

}  // namespace sparkplan::test
