// The fabric on real networkd and netplan, checked with ip, netplan get and ping.
#include <algorithm>

#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/integration/lab/netplan_host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

const std::string kDirect = "fabric: {topology: direct, port: 1}\n";
const std::string kSwitch = "fabric: {topology: switch, port: 1}\n";

void play_direct_fabric(const std::string& user) {
  const NetplanHost first(1);
  const NetplanHost second(2);
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

TEST_CASE("netplan: a cable in different ports on different nodes") {
  const NetplanHost first(1);
  const NetplanHost second(2);
  Lab::get().plug(2, kOtherA, kHalfA);
  Lab::get().plug(2, kOtherB, kHalfB);
  const Controller controller;
  controller.cluster(R"(
fabric: {topology: direct, port: 1}
ssh: {user: root}
nodes:
  - {name: spark-01, address: 10.77.0.1}
  - {name: spark-02, address: 10.77.0.2, fabric: {port: 0}}
)");
  const auto run = controller.run({"apply", "--yes"});
  const bool reached = first.full_frame_reaches("192.168.100.12") && first.full_frame_reaches("192.168.101.12");
  const auto verified = controller.run({"verify", "--level", "link"});
  Lab::get().plug(2, kOtherA, kOtherA);
  Lab::get().plug(2, kOtherB, kOtherB);
  require_exit(run, 0);
  CHECK(reached);
  require_exit(verified, 0);
  CHECK(second.addresses(kOtherA) == Addresses{"192.168.100.12/24"});
  CHECK(second.addresses(kOtherB) == Addresses{"192.168.101.12/24"});
  CHECK(second.addresses(kHalfA).empty());
  CHECK(first.addresses(kHalfA) == Addresses{"192.168.100.11/24"});
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("netplan: a port beside the fabric has an address of the management network, a gateway and routes") {
  const NetplanHost first(1);
  Lab::get().plug(1, kOtherA, "mgmt0");
  const Controller controller;
  const std::string nodes = "ssh: {user: root}\nnodes:\n  - name: spark-01\n    address: 10.77.0.1\n";
  controller.cluster("nccl: {mode: safe}\n" + kSwitch + nodes +
                     "    interfaces:\n      - {name: enp1s0f0np0, address: 10.77.0.101/24, gateway: 10.77.0.254, mtu: "
                     "1400, routes: [{to: 10.99.0.0/16, via: 10.77.0.253, metric: 50}]}\n");
  const auto applied = controller.run({"apply", "--yes"});
  const auto addresses = first.addresses(kOtherA);
  const auto routes = first->shell("ip route show dev " + kOtherA);
  const auto in_sync = controller.run({"plan", "--detailed-exitcode"});
  first->shell("ip route del 10.99.0.0/16");
  const auto drift = controller.run({"drift", "--json"});
  const auto repaired = controller.run({"apply", "--yes"});
  const auto routes_again = first->shell("ip route show dev " + kOtherA);
  const auto nccl = first->shell("cat /etc/profile.d/sparkplan-nccl.sh");
  controller.cluster(kSwitch + nodes);
  const auto removed = controller.run({"apply", "--yes", "--yes-prune"});
  Lab::get().plug(1, kOtherA, kOtherA);
  require_exit(applied, 0);
  CHECK(addresses == Addresses{"10.77.0.101/24"});
  CHECK(contains(routes, "default via 10.77.0.254"));
  CHECK(contains(routes, "10.99.0.0/16 via 10.77.0.253"));
  CHECK(contains(routes, "metric 50"));
  require_exit(in_sync, 0);
  require_exit(drift, 2);
  CHECK_FALSE(change_in(drift.report(), "spark-01/netplan/" + kOtherA).is_null());
  require_exit(repaired, 0);
  CHECK(contains(routes_again, "10.99.0.0/16 via 10.77.0.253"));
  CHECK_FALSE(contains(nccl, "s0f0"));
  require_exit(removed, 0);
  CHECK(first.addresses(kOtherA).empty());
  require_fabric_links(*first);
}

TEST_CASE("netplan: the management interface keeps its protection among the ports beside the fabric") {
  const NetplanHost first(1);
  const Controller controller;
  controller.cluster(R"(
sysctl: {net.core.somaxconn: 8192}
ssh: {user: root}
nodes:
  - {name: spark-01, address: 10.77.0.1, interfaces: [{name: mgmt0, address: 10.77.0.1/24, mtu: 1400}]}
)");
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 9);
  CHECK(contains(run.out + run.err, "mgmt0"));
  CHECK(first.mtu("mgmt0") == 1500);
  CHECK_FALSE(first->has(kFabricFile));
}

TEST_CASE("netplan: the fabric survives a reboot") {
  const NetplanHost first(1);
  const Controller controller;
  controller.cluster(kSwitch + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  Lab::get().reboot(1);
  CHECK(eventually([&] { return first.addresses(kHalfB) == Addresses{"192.168.101.11/24"}; }));
  CHECK(first.mtu(kHalfA) == 9000);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("netplan: a change of a link by hand is drift, named and repaired") {
  const NetplanHost first(1);
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

TEST_CASE("netplan: a line added to the managed file by hand is drift of that file") {
  const NetplanHost first(1);
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

TEST_CASE("netplan: growth from two nodes to three keeps the addresses of the two") {
  const NetplanHost first(1);
  const NetplanHost second(2);
  const NetplanHost third(3);
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

TEST_CASE("netplan: removing the section restores the links") {
  const NetplanHost first(1);
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

TEST_CASE("netplan: an address with an end that arrives after the plan does not make it stale") {
  const NetplanHost first(1);
  const Controller controller;
  controller.cluster(kSwitch + nodes_of_lab(1));
  first->shell("ip link set " + kHalfA + " up");
  require_exit(controller.run({"plan", "-o", "fabric.plan"}), 0);
  const std::string advertised = "ip address add fd00:66::11/64 dev " + kHalfA + " valid_lft 600 preferred_lft 600";
  first->shell(advertised);
  require_exit(controller.run({"apply", "fabric.plan", "--yes"}), 0);
  require_fabric_links(*first);
  CHECK_FALSE(contains(first->shell("ip address show dev " + kHalfA), "fd00:66"));
  // One that arrives on an interface whose addresses are ours is a difference.
  first->shell(advertised);
  require_exit(controller.run({"drift"}), 2);
  require_exit(controller.run({"rollback", "--yes"}), 0);
  CHECK_FALSE(first->has(kFabricFile));
  CHECK_FALSE(contains(first->shell("ip address show dev " + kHalfA), "192.168.100.11"));
}

TEST_CASE("netplan: a change of the connection's own interface is refused, and the node stays unchanged") {
  const NetplanHost first(1);
  const NetplanHost second(2);
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

TEST_CASE("netplan: a subnet with another route is refused with node and route, and a port may be moved") {
  const NetplanHost first(1);
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

TEST_CASE("netplan: a definition that netplan refuses is found before any write") {
  const NetplanHost first(1);
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

TEST_CASE("netplan: a missing interface excludes only itself") {
  const NetplanHost first(1);
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

TEST_CASE("netplan: an MTU that the driver refuses restores the link and the file") {
  const NetplanHost first(1);
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

TEST_CASE("netplan: a link-local half assigns itself an address") {
  const NetplanHost first(1);
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
