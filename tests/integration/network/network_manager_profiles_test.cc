// Foreign NetworkManager profiles for the fabric: sparkplan names them, refuses them, or takes them over and restores
// them.
#include "engine/core/text.h"
#include "tests/integration/lab/controller.h"
#include "tests/integration/lab/host.h"
#include "tests/integration/lab/links.h"
#include "tests/integration/lab/network_manager_host.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

// Synthetic, in the form in which Ubuntu's NetworkManager writes its profiles into /etc/netplan.
const std::string kMirrorsOfOthers = R"(network:
  version: 2
  ethernets:
    NM-9c1f0a4e-52d5-4f6b-8a53-6c0f2f6a7e10:
      renderer: NetworkManager
      match: {}
      dhcp4: true
      dhcp6: true
      wakeonlan: true
      networkmanager:
        uuid: "9c1f0a4e-52d5-4f6b-8a53-6c0f2f6a7e10"
        name: "Wired connection 1"
        passthrough:
          connection.timestamp: "1750000000"
          ipv6.addr-gen-mode: "default"
          proxy._: ""
)";

}  // namespace

TEST_CASE("networkmanager: a profile that would win at boot is named, and nothing is written", "[networkmanager]") {
  const FabricHost first(1);
  first.add_profile("office", "autoconnect-priority=999\ninterface-name=" + kHalfA + "\n[ipv4]\nmethod=auto\n");
  const Controller controller(Lab::network_manager());
  controller.cluster("sysctl: {net.core.somaxconn: 8192}\n" + kSwitch + nodes_of_lab(1));
  const auto run = controller.run({"apply", "--yes"});
  require_exit(run, 9);
  CHECK(contains(run.out + run.err, kProfiles + "office.nmconnection"));
  CHECK(contains(run.out + run.err, "nmcli connection"));
  CHECK(first->sysctl("net.core.somaxconn") == "4096");
  CHECK_FALSE(first->has(kFabricFile));
}

TEST_CASE("networkmanager: Ubuntu's mirror of a profile for any interface blocks nothing", "[networkmanager]") {
  const FabricHost first(1);
  const std::string path = "/etc/netplan/90-NM-9c1f0a4e-52d5-4f6b-8a53-6c0f2f6a7e10.yaml";
  first->write(path, kMirrorsOfOthers, 0600);
  const Controller controller(Lab::network_manager());
  controller.cluster(kSwitch + nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_fabric(first);
  Lab::network_manager().reboot(1);
  CHECK(eventually([&] { return first.profile_on(kHalfA) == "netplan-" + kHalfA; }));
  CHECK(eventually([&] { return first.profile_on(kHalfB) == "netplan-" + kHalfB; }));
  CHECK(first->text(path) == kMirrorsOfOthers);
}

TEST_CASE("networkmanager: Ubuntu's mirror of a generated profile is taken over, and restored", "[networkmanager]") {
  const FabricHost first(1);
  const std::string key = "NM-9c1f0a4e-52d5-4f6b-8a53-6c0f2f6a7e10";
  const std::string path = "/etc/netplan/90-" + key + ".yaml";
  std::string mirror = kMirrorsOfOthers;
  mirror.replace(mirror.find("{}"), 2, "{name: " + kHalfA + "}");
  first->write(path, mirror, 0600);
  const Controller controller(Lab::network_manager());
  controller.cluster("fabric: {topology: switch, port: 1, adopt: refuse}\n" + nodes_of_lab(1));
  const auto refused = controller.run({"plan"});
  require_exit(refused, 9);
  CHECK(contains(refused.out + refused.err, path + ":4"));

  controller.cluster(kSwitch + nodes_of_lab(1));
  const auto planned = controller.run({"plan"});
  require_exit(planned, 0);
  CHECK(contains(planned.out, path + ":4 is a profile that NetworkManager generated"));
  CHECK(first->text(path) == mirror);

  require_exit(controller.run({"apply", "--yes"}), 0);
  require_fabric(first);
  CHECK(first->shell("netplan get ethernets." + key) == "{}");
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  Lab::network_manager().reboot(1);
  CHECK(eventually([&] { return first.addresses(kHalfA) == Addresses{"192.168.100.11/24"}; }));
  CHECK(eventually([&] { return first.addresses(kHalfB) == Addresses{"192.168.101.11/24"}; }));
  require_fabric(first);

  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first->text(path) == mirror);
  CHECK(eventually([&] { return contains(first->shell("nmcli -t -f NAME connection show"), "Wired connection 1"); }));
}

TEST_CASE("networkmanager: a user's profile for the port is refused, or replaced under adopt: take-over",
          "[networkmanager]") {
  const FabricHost first(1);
  first.add_profile("cx7-left", "interface-name=" + kHalfA + "\n[ipv4]\nmethod=manual\naddress1=172.16.0.1/30\n");
  first->shell("nmcli connection up cx7-left");
  REQUIRE(eventually([&] { return first.profile_on(kHalfA) == "cx7-left"; }));
  const Controller controller(Lab::network_manager());
  controller.cluster(kSwitch + nodes_of_lab(1));
  const auto refused = controller.run({"apply", "--yes"});
  require_exit(refused, 9);
  CHECK(contains(refused.out + refused.err, "\"cx7-left\", is for " + kHalfA));
  CHECK_FALSE(first->has(kFabricFile));
  CHECK(first.profile_on(kHalfA) == "cx7-left");

  controller.cluster("fabric: {topology: switch, port: 1, adopt: take-over}\n" + nodes_of_lab(1));
  const auto planned = controller.run({"plan"});
  CHECK(contains(planned.out, "NetworkManager's \"cx7-left\" is active on it"));
  require_exit(controller.run({"apply", "--yes"}), 0);
  require_fabric(first);
  require_exit(controller.run({"plan", "--detailed-exitcode"}), 0);
  controller.cluster(nodes_of_lab(1));
  require_exit(controller.run({"apply", "--yes"}), 0);
  CHECK(first.profile_on(kHalfA) == "cx7-left");
  CHECK(first.addresses(kHalfA) == Addresses{"172.16.0.1/30"});
}

}  // namespace sparkplan::test
