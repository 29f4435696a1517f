#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Interfaces of the fabric.
// Sources: public reports of DGX Spark owners, the guides of NVIDIA and others, netplan(5), the kernel's ip-sysctl.rst.
inline constexpr auto kLinkRows = std::to_array<DoctorRow>({
    {"link-unnamed", "no interface of the node matches the declared half", "the node has no such interface",
     "list the interfaces in the node's entry: fabric: {interfaces: [{name: ...}, ...]}", "ip link", "link"},
    {"link-absent", "the node does not have the interface",
     "no cable in that port, or the ConnectX-7 is powered off: without a cable it has no interfaces at all",
     "plug in the cable at both ends; if it is in, shut down, pull the power cord for 90 s, then boot", "ip link",
     "link, doctor"},
    {"link-down", "the interface is down", "it was never brought up",
     "run `sparkplan apply`: it brings the interface up, also after a reboot", "ip link", "link, doctor"},
    {"link-no-carrier", "the interface is up but has no carrier",
     "no cable, the other end is off or down, or the cable is not in the declared port",
     "check both ends of the cable, and `fabric: port`; if they are right, reseat it, and boot with the cable plugged "
     "in",
     "/sys/class/net/INTERFACE/carrier", "link, doctor"},
    {"link-member", "the interface belongs to a bond or a bridge",
     "a member of a bond or bridge has no address of its own, and RDMA works through neither",
     "remove it: `ip link set dev INTERFACE nomaster`; also remove it from the netplan file that adds it", "ip link",
     "link, doctor"},
    {"link-mtu", "the interface does not have the declared MTU",
     "the MTU was changed on the node, or the declared MTU was never applied",
     "run `sparkplan apply`; `sparkplan drift` shows whether the MTU was changed", "ip link", "link, doctor"},
    {"link-no-address", "the interface does not have the declared address",
     "the address was never applied, was removed, or a NetworkManager profile configures the interface",
     "run `sparkplan apply`; check which profile of the interface `nmcli connection show --active` lists", "ip address",
     "link, doctor"},
    {"link-no-link-local", "the interface has no IPv4 link-local address",
     "the interface came up without a carrier, or its renderer assigns no such address",
     "run `sparkplan apply`, then check the interface with `networkctl status` or `nmcli device show`", "ip address",
     "link"},
    {"adapter-absent", "a DGX Spark shows no interface of its ConnectX-7",
     "without a cable, the adapter is powered off and has no interfaces at all; kernels 6.17.0-1021 and -1029 lose it "
     "seconds after the boot",
     "plug in a cable at both ends; if there is one, install kernel 6.17.0-1031-nvidia or later, shut down, pull the "
     "power cord for 90 s, then boot",
     "/sys/class/net/*/device/driver"},
    {"cabled-elsewhere", "no declared interface has a carrier, but the other port has one",
     "the cable is not in the declared port", "move the cable to the declared port, or correct `fabric: port`",
     "/sys/class/net/INTERFACE/carrier"},
    {"bond-stale", "a leftover bond has no carrier",
     "an earlier setup created it; its addresses and routes lead nowhere and can override the fabric's",
     "remove it from netplan and NetworkManager (`nmcli connection delete`, the file in /etc/netplan), then `ip link "
     "delete BOND`",
     "ip link"},
    {"address-extra", "an interface of the fabric has an undeclared address",
     "another netplan file or profile adds it: netplan merges the address lists of all files",
     "find it with `grep -r ADDRESS /etc/netplan /etc/NetworkManager` and remove it there", "ip address"},
    {"link-slow", "a link of a DGX Spark runs below 200 Gb/s",
     "a breakout or 100G cable, or autonegotiation with the switch chose fewer lanes",
     "use a 200G cable; on the switch, force 200G-baseCR4 and turn autonegotiation off",
     "/sys/class/net/INTERFACE/speed"},
    {"pcie-narrow", "an adapter uses fewer PCIe lanes than it has",
     "the BIOS gave the second half only two lanes (before 2026-04 on some GX10), or the adapter started "
     "badly",
     "update the BIOS (fwupdmgr update), shut down, pull the power cord for 90 s, then boot",
     "/sys/class/net/INTERFACE/device/current_link_width"},
    {"pcie-slow", "an adapter's PCIe link runs below its highest speed",
     "the link was not trained correctly, or the firmware saves power",
     "shut down, pull the power cord for 90 s, then boot; check LnkSta in `lspci -vv`",
     "/sys/class/net/INTERFACE/device/current_link_speed"},
    {"link-flapping", "a link has lost its carrier many times since boot",
     "a loose or worn cable, or a peer that reboots repeatedly",
     "reseat the cable at both ends; replace it if the count keeps rising", "/sys/class/net/INTERFACE/carrier_changes"},
});

/// The other ends of the fabric's cables: level link.
inline constexpr auto kCableRows = std::to_array<DoctorRow>({
    {"cable-elsewhere", "the cable does not lead to the declared port",
     "the cable is in the wrong port at one of its ends, or cluster.yaml describes a different cabling",
     "move the cable to the declared port (`ethtool -p INTERFACE` blinks a port), or correct cluster.yaml: "
     "`fabric: port`, `topology`, `cables`",
     "frames of EtherType 0x88B5 from agent to agent", "link"},
    {"cable-nobody", "there is a carrier, but no other node of the cluster is on that cable",
     "the cable leads to a machine outside cluster.yaml, or to a switch port in another VLAN or bridge",
     "follow the cable (`ethtool -p INTERFACE` blinks its port), and check the switch's bridges and VLANs",
     "frames of EtherType 0x88B5 from agent to agent", "link"},
    {"cable-some", "the switch does not connect this port to all of the declared nodes",
     "a cable leads elsewhere, or the switch separates some of its ports: a second bridge, a VLAN, RSTP",
     "compare the missing node's switch port with the others: same bridge, same VLAN, RSTP off or edge",
     "frames of EtherType 0x88B5 from agent to agent", "link"},
});

}  // namespace sparkplan
