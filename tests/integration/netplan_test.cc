// The fabric on real networkd and netplan, checked with ip, netplan get and ping.
#include <algorithm>

#include "tests/integration/controller.h"
#include "tests/integration/host.h"
#include "tests/integration/links.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

/// A host with an unconfigured fabric, before and after a case.
class FabricHost {
 public:
  explicit FabricHost(int number) : host_(number) { reset(); }
  FabricHost(const FabricHost&) = delete;
  FabricHost& operator=(const FabricHost&) = delete;
  ~FabricHost() {
    try {
      reset();
    } catch (const std::exception&) {  // The case has failed already; the next case resets the host again.
    }
  }
  const Host& operator*() const { return host_; }
  const Host* operator->() const { return &host_; }

  int mtu(const std::string& interface) const { return mtu_of(host_, interface); }
  Addresses addresses(const std::string& interface) const { return addresses_of(host_, interface); }
  bool is_up(const std::string& interface) const { return test::is_up(host_, interface); }
  bool full_frame_reaches(const std::string& address) const { return test::full_frame_reaches(host_, address); }

 private:
  void reset() const {
    host_.shell("rm -f /etc/netplan/*.yaml /run/netplan/*.yaml; netplan generate; networkctl reload; for half in " +
                kHalfA + " " + kHalfB + "; do ip address flush dev $half; ip link set dev $half down mtu 1500; done");
  }
  Host host_;
};

const std::string kDirect = "fabric: {topology: direct, port: 1}\n";
const std::string kSwitch = "fabric: {topology: switch, port: 1}\n";

/// All files in configuration directories, with inode and times: one line each.
std::string configuration(const Host& host) {
  return host.shell("find /etc /root /home /run/systemd/network -printf '%p %i %m %u %T@ %C@\\n' | sort");
}

void play_direct_fabric(const std::string& user) {
  const FabricHost first(1);
  const FabricHost second(2);
  const Controller controller;
  controller.cluster(kDirect + nodes_of_lab(2, user));
  const auto plan = controller.run({"plan", "--json"});
  require_exit(plan, 0);
  const auto change = change_in(plan.report(), "spark-01/netplan/" + kHalfA);
  REQUIRE_FALSE(change.is_null());
  CHECK(change.at("impact") == "interrupts-network");
  require_bare_links(*first);

  require_exit(controller.run({"apply", "--yes"}), 0);
  require_fabric_links(*first);
  require_fabric_links(*second);
  CHECK(first->shell("stat -c '%a %U' " + kFabricFile) == "600 root");
  CHECK(contains(first->shell("netplan get ethernets." + kHalfA), "192.168.100.11/24"));
  CHECK(first.full_frame_reaches("192.168.100.12"));
  CHECK(first.full_frame_reaches("192.168.101.12"));

  const auto before = configuration(*first);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(configuration(*first) == before);
}

TEST_CASE("netplan: two nodes on one cable, as the SSH user root") { play_direct_fabric("root"); }

TEST_CASE("netplan: two nodes on one cable, as an ordinary user with sudo") { play_direct_fabric("operator"); }

TEST_CASE("netplan: the fabric is still there after a reboot") {
  const FabricHost first(1);
  const Controller controller;
  controller.cluster(kSwitch + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  Lab::get().reboot(1);
  CHECK(eventually([&] { return first.addresses(kHalfB) == Addresses{"192.168.101.11/24"}; }));
  CHECK(first.mtu(kHalfA) == 9000);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("netplan: what somebody does to a link by hand is drift, named and mended") {
  const FabricHost first(1);
  const Controller controller;
  controller.cluster(kSwitch + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  first->shell("ip link set " + kHalfA + " mtu 1500 && ip address add 10.9.9.9/24 dev " + kHalfB);
  const auto drift = controller.run({"drift", "--json"});
  require_exit(drift, 2);
  const auto mtu = change_in(drift.report(), "spark-01/netplan/" + kHalfA);
  REQUIRE_FALSE(mtu.is_null());
  CHECK(mtu.at("origin") == "drift");
  CHECK(mtu.at("fields").at(0).at("path") == "mtu");
  CHECK(mtu.at("fields").at(0).at("before") == 1500);
  CHECK_FALSE(change_in(drift.report(), "spark-01/netplan/" + kHalfB).is_null());
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_fabric_links(*first);
}

TEST_CASE("netplan: a line added to our file by hand is drift of the file") {
  const FabricHost first(1);
  const Controller controller;
  controller.cluster(kSwitch + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  first->append(kFabricFile, "# mine\n");
  const auto drift = controller.run({"drift", "--json"});
  require_exit(drift, 2);
  CHECK_FALSE(change_in(drift.report(), "spark-01/netplan/@file").is_null());
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK_FALSE(contains(first->text(kFabricFile).value(), "mine"));
  require_fabric_links(*first);
}

TEST_CASE("netplan: growth from two nodes to three leaves the addresses of the two as they are") {
  const FabricHost first(1);
  const FabricHost second(2);
  const FabricHost third(3);
  const Controller controller;
  controller.cluster(kDirect + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto file = first->identity(kFabricFile);
  controller.cluster(kSwitch + nodes_of_lab(3));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first->identity(kFabricFile) == file);
  require_fabric_links(*second);
  require_fabric_links(*third);
  CHECK(third.full_frame_reaches("192.168.101.11"));
}

TEST_CASE("netplan: a section that is taken out gives back the links as they were") {
  const FabricHost first(1);
  const Controller controller;
  first->shell("ip link set " + kHalfA + " up && ip address add 10.5.5.5/24 dev " + kHalfA);
  controller.cluster(kSwitch + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_fabric_links(*first);
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK_FALSE(first->has(kFabricFile));
  CHECK(first.addresses(kHalfA) == Addresses{"10.5.5.5/24"});
  CHECK(first.mtu(kHalfA) == 1500);
  CHECK(first.is_up(kHalfA));
  CHECK(first.addresses(kHalfB).empty());
  CHECK_FALSE(first.is_up(kHalfB));
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("netplan: the interface of our connection is refused, and the node left whole") {
  const FabricHost first(1);
  const FabricHost second(2);
  const Controller controller;
  controller.cluster(R"(
sysctl: {net.core.somaxconn: 8192}
fabric: {topology: custom}
ssh: {user: root}
nodes:
  - {name: spark-01, address: 10.77.0.1, fabric: {interfaces: [{name: mgmt0, mtu: 1400}]}}
  - {name: spark-02, address: 10.77.0.2, fabric: {interfaces: [{name: enp1s0f1np1, address: 192.168.177.12/24}]}}
)");
  const auto run = controller.run({"apply", "--yes", "--json"});
  require_exit(run, 9);
  const auto report = run.report();
  CHECK(node_in(report, "spark-01").at("status") == "refused");
  CHECK(contains(node_in(report, "spark-01").at("error").dump(), "mgmt0"));
  CHECK(first->sysctl("net.core.somaxconn") == "4096");
  CHECK(first.mtu("mgmt0") == 1500);
  CHECK(second->sysctl("net.core.somaxconn") == "8192");
  CHECK(second.addresses(kHalfA) == Addresses{"192.168.177.12/24"});
}

TEST_CASE("netplan: an interface that another file defines is refused, or left to it") {
  const FabricHost first(1);
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

TEST_CASE(
    "netplan: a subnet that the node reaches elsewhere is refused with node, route and place; moving ports is not") {
  const FabricHost first(1);
  const Controller controller;
  first->shell("ip route add 192.168.101.128/25 dev mgmt0");
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + kSwitch + nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  first->shell("ip route del 192.168.101.128/25 dev mgmt0");
  require_exit(run, 3);
  CHECK(contains(run.out + run.err,
                 "the fabric subnet 192.168.101.0/24 overlaps 192.168.101.128/25, which spark-01 "
                 "reaches through mgmt0"));
  CHECK(contains(run.out + run.err, "cluster.yaml:4:"));
  CHECK(first->sysctl("net.core.somaxconn") == "8192");
  require_bare_links(*first);

  require_exit(controller.run({"apply", "--yes"}), 0);
  require_fabric_links(*first);
  controller.cluster("fabric: {topology: switch, port: 0}\n" + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK(first.addresses("enp1s0f0np0") == Addresses{"192.168.100.11/24"});
  CHECK(first.addresses(kHalfA).empty());
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
}

TEST_CASE("netplan: what another file says of our interface is taken over, and comes back when it is no longer ours") {
  const FabricHost first(1);
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

TEST_CASE("netplan: a file of somebody else's that is no YAML is named, and the rest goes on") {
  const FabricHost first(1);
  const Controller controller;
  first->write("/etc/netplan/50-broken.yaml", "network:\n  ethernets: {eth0: [dhcp4: true\n", 0600);
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + kSwitch + nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 4);
  CHECK(contains(run.out + run.err, "/etc/netplan/50-broken.yaml"));
  CHECK(first->sysctl("net.core.somaxconn") == "8192");
  require_bare_links(*first);
}

TEST_CASE("netplan: what netplan itself will not take is found before anything is written") {
  const FabricHost first(1);
  const Controller controller;
  // Valid YAML that netplan refuses.
  first->write("/etc/netplan/50-odd.yaml", "network:\n  version: 2\n  ethernets:\n    eth9: {no-such-key: true}\n",
               0600);
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + kSwitch + nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 4);
  CHECK(contains(run.out + run.err, "/etc/netplan/50-odd.yaml"));
  CHECK(first->sysctl("net.core.somaxconn") == "8192");
  require_bare_links(*first);
}

TEST_CASE("netplan: an interface that is not there takes only itself out") {
  const FabricHost first(1);
  const Controller controller;
  controller.cluster(R"(
sysctl: {net.core.somaxconn: 8192}
fabric: {topology: custom}
ssh: {user: root}
nodes:
  - {name: spark-01, address: 10.77.0.1, fabric: {interfaces: [{name: enp9s0, address: 192.168.9.1/24}, {name: enp1s0f1np1, address: 192.168.177.11/24}]}}
)");
  const auto run = controller.run({"apply", "--yes", "--json"});
  require_exit(run, 3);
  const auto report = run.report();
  const auto& findings = report.at("diagnostics");
  const auto found = std::find_if(findings.begin(), findings.end(),
                                  [](const Json& one) { return one.at("code") == "fabric.no-interface"; });
  REQUIRE(found != findings.end());
  CHECK(found->at("line").get<int>() > 0);
  CHECK(contains(found->at("message").get<std::string>(), "enp9s0"));
  CHECK(first->sysctl("net.core.somaxconn") == "8192");
  CHECK(first.addresses(kHalfA) == Addresses{"192.168.177.11/24"});
}

TEST_CASE("netplan: an MTU that the driver refuses gives back the link and the file as they were") {
  const FabricHost first(1);
  const Controller controller;
  // A macvlan's MTU cannot exceed the MTU of its parent interface.
  first->shell("ip link add link " + kHalfA + " name vfab type macvlan");
  controller.cluster(R"(
fabric: {topology: custom}
ssh: {user: root}
nodes:
  - {name: spark-01, address: 10.77.0.1, fabric: {interfaces: [{name: vfab, address: 192.168.177.11/24, mtu: 9000}]}}
)");
  const auto run = controller.run({"apply", "--yes"});
  first->shell("ip link show vfab");
  CHECK(first.mtu("vfab") == 1500);
  CHECK(first.addresses("vfab").empty());
  CHECK_FALSE(first->has(kFabricFile));
  first->shell("ip link del vfab");
  require_exit(run, 7);
  CHECK(contains(run.out + run.err, "MTU 9000"));
}

TEST_CASE("netplan: a link-local half takes an address by itself") {
  const FabricHost first(1);
  const Controller controller;
  controller.cluster(R"(
fabric: {topology: custom}
ssh: {user: root}
nodes:
  - {name: spark-01, address: 10.77.0.1, fabric: {interfaces: [{name: enp1s0f1np1, address: 192.168.177.11/24, mtu: 9000}, {name: enP2p1s0f1np1, mtu: 9000, link_local: ipv4}]}}
)");
  require_exit(controller.run({"apply", "--yes"}), 0);
  const auto addresses = first.addresses(kHalfB);
  REQUIRE(addresses.size() == 1);
  CHECK(addresses[0].rfind("169.254.", 0) == 0);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

}  // namespace
}  // namespace sparkplan::test
