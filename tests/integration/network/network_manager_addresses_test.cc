// The fate of addresses on interfaces that NetworkManager manages: those that sparkplan leaves alone, those without
// an address of their own, and those that it takes over. Checked with ip and nmcli.
#include "engine/core/text.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/integration/lab/network_manager_host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

/// One node with these fabric interfaces.
std::string interfaces(const std::string& list) {
  return "fabric: {topology: custom}\nssh: {user: root}\nnodes:\n  - {name: spark-01, address: 10.77.0.1, fabric: "
         "{interfaces: [" +
         list + "]}}\n";
}

bool has_link_local(const FabricHost& host, const std::string& interface) {
  const auto addresses = host.addresses(interface);
  return addresses.size() == 1 && addresses[0].starts_with("169.254.");
}

std::string ipv4_method(const FabricHost& host, const std::string& profile) {
  return host->shell("nmcli --get-values ipv4.method connection show " + profile);
}

TEST_CASE("networkmanager: with only an MTU, the user's profile stays active with its addresses", "[networkmanager]") {
  const FabricHost first(1);
  first.add_profile("mesh",
                    "interface-name=" + kHalfA +
                        "\n[ipv4]\nmethod=manual\naddress1=192.168.200.1/24,192.168.200.254\ndns=192.0.2.53;\n");
  first->shell("nmcli connection up mesh");
  REQUIRE(eventually([&] { return first.addresses(kHalfA) == Addresses{"192.168.200.1/24"}; }));
  const auto routes = first->shell("ip route show dev " + kHalfA);
  const Controller controller(Lab::network_manager());
  controller.cluster(interfaces("{name: enp1s0f1np1, mtu: 9000}"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first.mtu(kHalfA) == 9000);
  CHECK(first.addresses(kHalfA) == Addresses{"192.168.200.1/24"});
  CHECK(first.profile_on(kHalfA) == "mesh");
  CHECK(first->shell("ip route show dev " + kHalfA) == routes);
  CHECK(first->shell("nmcli --get-values ipv4.dns connection show mesh") == "192.0.2.53");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);

  Lab::network_manager().reboot(1);
  CHECK(eventually([&] { return first.profile_on(kHalfA) == "mesh"; }));
  CHECK(eventually([&] { return first.addresses(kHalfA) == Addresses{"192.168.200.1/24"}; }));

  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK_FALSE(first->has(kFabricFile));
  CHECK(eventually([&] { return first.addresses(kHalfA) == Addresses{"192.168.200.1/24"}; }));
  CHECK(first.mtu(kHalfA) == 1500);
}

TEST_CASE("networkmanager: an interface that keeps only its MTU gets its own profile back", "[networkmanager]") {
  const FabricHost first(1);
  const Controller controller(Lab::network_manager());
  controller.cluster(interfaces("{name: enp1s0f1np1, address: 192.168.200.1/24}"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  REQUIRE(first.addresses(kHalfA) == Addresses{"192.168.200.1/24"});
  controller.cluster(interfaces("{name: enp1s0f1np1, mtu: 9000}"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first.addresses(kHalfA).empty());
  CHECK(first.mtu(kHalfA) == 9000);
  CHECK(first.profile_on(kHalfA) != "netplan-" + kHalfA);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("networkmanager: a neighbour that answers for an address keeps no rollback from ending", "[networkmanager]") {
  const FabricHost first(1);
  const FabricHost second(2);
  const Controller controller(Lab::network_manager());
  controller.cluster(kDirect + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes"}), 0);
  // The default of NetworkManager 1.46 and later.
  first->write("/etc/NetworkManager/conf.d/90-dad.conf", "[connection]\nipv4.dad-timeout=500\n");
  first->shell("nmcli general reload conf");
  second->shell("ip address add 192.168.100.11/24 dev " + kHalfA);
  controller.cluster("fabric: {topology: direct, port: 1, mtu: 4200}\n" + nodes_of_lab(2));
  const auto refused = controller.run({"apply", "--yes", "--only", "spark-01", "--json"});
  require_exit(refused, 7);
  const std::string why = refused.report().at("nodes").at(0).at("error").at("message");
  CHECK(contains(why, "its earlier state is restored, except for " + kHalfA + ": "));
  CHECK_FALSE(contains(first->shell("netplan get ethernets." + kHalfA), "4200"));
  // The neighbour keeps the node from no other change.
  controller.cluster(kDirect + "sysctl: {vm.swappiness: 10}\n" + nodes_of_lab(2));
  require_exit(controller.run({"apply", "--yes", "--only", "spark-01/sysctl"}), 0);

  controller.cluster("fabric: {topology: direct, port: 1, mtu: 4200}\n" + nodes_of_lab(2));
  second->shell("ip address del 192.168.100.11/24 dev " + kHalfA);
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first.mtu(kHalfA) == 4200);
  CHECK(first.addresses(kHalfA) == Addresses{"192.168.100.11/24"});
}

TEST_CASE("networkmanager: with one network, half B takes a link-local address", "[networkmanager]") {
  const FabricHost first(1);
  const Controller controller(Lab::network_manager());
  controller.cluster("fabric: {topology: switch, port: 1, subnets: [192.168.177.0/24]}\n" + nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 0);
  CHECK(contains(run.out + run.err, "with one subnet"));
  CHECK(first.addresses(kHalfA) == Addresses{"192.168.177.11/24"});
  CHECK(has_link_local(first, kHalfB));
  CHECK(ipv4_method(first, "netplan-" + kHalfB) == "link-local");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("networkmanager: a twin without an address takes a link-local one", "[networkmanager]") {
  const FabricHost first(1);
  const Controller controller(Lab::network_manager());
  controller.cluster(
      interfaces("{name: enp1s0f1np1, address: 192.168.177.11/24, mtu: 9000}, {name: enP2p1s0f1np1, mtu: 9000}"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first.addresses(kHalfA) == Addresses{"192.168.177.11/24"});
  CHECK(has_link_local(first, kHalfB));
  CHECK(first.mtu(kHalfB) == 9000);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
}

TEST_CASE("networkmanager: a take-over shows every address, route and name server that goes", "[networkmanager]") {
  const FabricHost first(1);
  first->write("/etc/netplan/40-cx7.yaml",
               "network:\n  version: 2\n  ethernets:\n    " + kHalfA +
                   ":\n      addresses: [10.50.0.1/24, 192.168.100.11/24]\n      routes:\n"
                   "        - {to: 10.60.0.0/16, via: 10.50.0.254}\n"
                   "      nameservers: {addresses: [192.0.2.53], search: [lab.test]}\n",
               0600);
  first.add_profile("cx7-right", "interface-name=" + kHalfB +
                                     "\n[ipv4]\nmethod=manual\naddress1=172.16.0.1/30,172.16.0.2\ndns=192.0.2.54;\n");
  first->shell("nmcli connection up cx7-right");
  REQUIRE(eventually([&] { return first.addresses(kHalfB) == Addresses{"172.16.0.1/30"}; }));
  const Controller controller(Lab::network_manager());
  controller.cluster("fabric: {topology: switch, port: 1, adopt: take-over}\n" + nodes_of_lab(1));
  const auto plan = controller.run({"plan"});
  require_exit(plan, 0);
  const std::string shown = plan.out + plan.err;
  for (const char* const gone :
       {"address 10.50.0.1/24", "route 10.60.0.0/16 via 10.50.0.254", "DNS 192.0.2.53", "DNS search lab.test",
        "address 172.16.0.1/30", "route default via 172.16.0.2", "DNS 192.0.2.54", "/etc/netplan/40-cx7.yaml:4"}) {
    INFO(gone);
    CHECK(contains(shown, gone));
  }
  CHECK_FALSE(contains(shown, "address 192.168.100.11/24"));  // That one stays.
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_fabric(first);
  const auto after = controller.run({"plan", "--detailed-exitcode"});
  require_exit(after, 0);
  CHECK_FALSE(contains(after.out + after.err, "fabric.take-over"));
}

TEST_CASE("networkmanager: a port beside the fabric has its address, gateway and routes", "[networkmanager]") {
  const FabricHost first(1);
  const std::string lan = "enp1s0f0np0";
  const Controller controller(Lab::network_manager());
  const std::string nodes = "ssh: {user: root}\nnodes:\n  - name: spark-01\n    address: 10.77.0.1\n";
  controller.cluster(kSwitch + nodes +
                     "    interfaces:\n      - {name: enp1s0f0np0, address: 10.98.0.5/24, gateway: 10.98.0.1, routes: "
                     "[{to: 10.99.0.0/16, via: 10.98.0.2, metric: 50}]}\n");
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first.addresses(lan) == Addresses{"10.98.0.5/24"});
  CHECK(first.profile_on(lan) == "netplan-" + lan);
  const auto routes = first->shell("ip route show dev " + lan);
  CHECK(contains(routes, "default via 10.98.0.1"));
  CHECK(contains(routes, "10.99.0.0/16 via 10.98.0.2"));
  require_fabric(first);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  first->shell("ip route del 10.99.0.0/16");
  require_exit(controller.run({"drift"}), 2);
  // A removal leaves alone what was changed by hand: the route first comes back.
  require_exit(controller.run({"apply", "--yes"}), 0);
  controller.cluster(kSwitch + nodes);
  require_exit(controller.run({"apply", "--yes", "--yes-prune"}), 0);
  CHECK_FALSE(contains(first->shell("cat /etc/netplan/60-sparkplan-fabric.yaml"), lan));
  CHECK(eventually([&] { return first.addresses(lan).empty(); }));
}

}  // namespace
}  // namespace sparkplan::test
