// Files of other owners that define interfaces of the fabric, on real networkd and netplan.
#include <string>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/integration/lab/netplan_host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kSwitch = "fabric: {topology: switch, port: 1}\n";

}  // namespace

TEST_CASE("netplan: an interface that another file defines is refused, or left to that file") {
  const NetplanHost first(1);
  const Controller controller;
  const std::string foreign = "network:\n  version: 2\n  ethernets:\n    " + kHalfA + ": {link-local: [ipv4]}\n";
  first->write("/etc/netplan/40-cx7.yaml", foreign, 0600);
  controller.cluster(kSwitch + nodes_of_lab(1));
  const auto refused = controller.run({"apply", "--yes"});
  require_exit(refused, 9);
  CHECK(contains(refused.out + refused.err, "/etc/netplan/40-cx7.yaml:4"));
  require_bare_links(*first);

  controller.cluster("fabric: {topology: switch, adopt: keep}\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first->text("/etc/netplan/40-cx7.yaml") == foreign);
  CHECK(first.addresses(kHalfB) == Addresses{"192.168.101.11/24"});
  CHECK_FALSE(contains(first->text(kFabricFile).value(), kHalfA + ":"));
}

TEST_CASE("netplan: another file's definition of an interface is taken over, and restored on removal") {
  const NetplanHost first(1);
  const Controller controller;
  const std::string other = "/etc/netplan/40-cx7.yaml";
  const std::string text = "# of a guide\nnetwork:\n  version: 2\n  ethernets:\n    " + kHalfA +
                           ":\n      addresses: [10.50.0.1/24]  # by hand\n      mtu: 4200\n    eth9: {dhcp4: true}\n";
  first->write(other, text);
  first->shell("chmod 600 " + other + " && netplan apply");
  REQUIRE(eventually([&] { return first.addresses(kHalfA) == Addresses{"10.50.0.1/24"}; }));
  controller.cluster(kSwitch + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 9);
  CHECK(first->text(other) == text);

  controller.cluster("fabric: {topology: switch, port: 1, adopt: take-over}\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_fabric_links(*first);
  CHECK_FALSE(contains(first->shell("netplan get ethernets." + kHalfA), "10.50.0.1"));
  CHECK(contains(first->shell("netplan get ethernets.eth9"), "dhcp4: true"));
  CHECK(first->shell("stat -c %a " + other) == "600");
  const auto before = configuration(*first);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(configuration(*first) == before);

  // A later change of the user to this file is kept.
  first->append(other, "    eth8: {dhcp4: true}\n");
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(first->text(other) == text + "    eth8: {dhcp4: true}\n");
  CHECK(eventually([&] { return first.addresses(kHalfA) == Addresses{"10.50.0.1/24"}; }));
}

TEST_CASE("netplan: a foreign file that is not YAML is named, and all other changes are made") {
  const NetplanHost first(1);
  const Controller controller;
  first->write("/etc/netplan/50-broken.yaml", "network:\n  ethernets: {eth0: [dhcp4: true\n", 0600);
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + kSwitch + nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 4);
  CHECK(contains(run.out + run.err, "/etc/netplan/50-broken.yaml"));
  CHECK(first->sysctl("net.core.somaxconn") == "8192");
  require_bare_links(*first);
}

}  // namespace sparkplan::test
