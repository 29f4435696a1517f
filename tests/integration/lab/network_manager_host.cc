#include "tests/integration/lab/network_manager_host.h"

#include "engine/core/text.h"
#include "tests/integration/lab/controller.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

/// The state after the first boot of an unconfigured machine. NetworkManager has generated a profile for each fabric
/// interface and requests an address by DHCP.
const std::string kFreshStart = R"(
systemctl reset-failed NetworkManager
systemctl stop NetworkManager
rm -f /etc/netplan/[1-9]*.yaml /run/netplan/*.yaml /etc/NetworkManager/system-connections/* /run/systemd/network/*
rm -rf /run/NetworkManager/devices /run/NetworkManager/system-connections /var/lib/NetworkManager/*
for bridge in vbridge vfab; do ip link del $bridge 2>/dev/null; done
for half in enp1s0f1np1 enP2p1s0f1np1 enp1s0f0np0 enP2p1s0f0np0; do
  sysctl -qw net.ipv6.conf.$half.disable_ipv6=0
  ip address flush dev $half
  ip link set dev $half up mtu 1500
done
netplan generate
systemctl start NetworkManager
)";

}  // namespace

FabricHost::FabricHost(int number) : host_(number, Lab::network_manager()) {
  host_.shell(kFreshStart);
  REQUIRE(eventually([&] { return profile_on(kHalfA).starts_with("Wired connection"); }));
  REQUIRE(eventually([&] { return profile_on(kHalfB).starts_with("Wired connection"); }));
}

void require_fabric(const FabricHost& host) {
  require_fabric_links(*host);
  INFO("on " << host->name());
  for (const std::string& half : {kHalfA, kHalfB}) {
    CHECK(host.profile_on(half) == "netplan-" + half);
    CHECK(host->sysctl("net.ipv6.conf." + half + ".disable_ipv6") == "1");
  }
}

void require_untouched(const FabricHost& host) {
  require_bare_links(*host);
  INFO("on " << host->name());
  for (const std::string& half : {kHalfA, kHalfB}) CHECK(host.profile_on(half).starts_with("Wired connection"));
}

}  // namespace sparkplan::test
