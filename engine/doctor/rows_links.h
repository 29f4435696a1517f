#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Interfaces of the fabric.
// Sources: public reports of DGX Spark owners, the guides of NVIDIA and others, netplan(5), the kernel's ip-sysctl.rst.
inline constexpr auto kLinkRows = std::to_array<DoctorRow>({
    {"link-unnamed", "no interface of the node can be the declared half", "the node shows no such interface",
     "name its interfaces below the node: fabric: {interfaces: [{name: ...}, ...]}", "ip link", "link"},
    {"link-absent", "the node does not show the interface",
     "no cable in that port, or the ConnectX-7 is powered off: without a cable it has no interfaces at all",
     "plug the cable in at both ends; if it is, shut down, pull the power cord for 90 s and boot again", "ip link",
     "link, doctor"},
    {"link-down", "the interface is down", "it was never brought up",
     "run `sparkplan apply`, which brings it up and keeps it so over boots", "ip link", "link, doctor"},
    {"link-no-carrier", "the interface is up and has no carrier",
     "no cable, the other end is off or down, or the cable is in another port than cluster.yaml says",
     "look at both ends of the cable, and at `fabric: port`", "/sys/class/net/INTERFACE/carrier", "link, doctor"},
    {"link-member", "the interface belongs to a bond or a bridge",
     "a member of a bond or bridge has no address of its own, and RDMA does not go through either",
     "take it out: `ip link set dev INTERFACE nomaster`, and out of the netplan file that put it in", "ip link",
     "link, doctor"},
    {"link-mtu", "the interface has another MTU than declared",
     "it was changed on the node, or the declared one was never applied",
     "run `sparkplan apply`; `sparkplan drift` shows whether it was changed", "ip link", "link, doctor"},
    {"link-no-address", "the declared address is not on the interface",
     "it was never applied, it was removed, or a NetworkManager profile configures the interface",
     "run `sparkplan apply`; see what `nmcli -t connection show --active` lists for the interface", "ip address",
     "link, doctor"},
    {"link-no-link-local", "the interface has no IPv4 link-local address",
     "no carrier when the interface was brought up, or its renderer gives it none",
     "run `sparkplan apply`, and look at `networkctl status` or `nmcli device show` for the interface", "ip address",
     "link"},
    {"adapter-absent", "a DGX Spark shows no interface of its ConnectX-7",
     "without a cable the adapter is powered off, and then has no interfaces at all",
     "plug a cable in at both ends; if there is one, shut down, pull the power cord for 90 s, boot",
     "/sys/class/net/*/device/driver"},
    {"cabled-elsewhere", "no declared interface has a carrier, and the other port has one",
     "the cable is in another port than cluster.yaml says",
     "put the cable into the declared port, or correct `fabric: port`", "/sys/class/net/INTERFACE/carrier"},
    {"bond-stale", "a bond without a carrier is left",
     "an earlier set-up made it; its addresses and routes lead nowhere and can win over the fabric's",
     "take it out of netplan and NetworkManager (`nmcli connection delete`, the file in /etc/netplan), then `ip link "
     "delete BOND`",
     "ip link"},
    {"address-extra", "an interface of the fabric has an undeclared address",
     "another netplan file or profile adds it: lists of addresses of several files are joined",
     "look for it with `grep -r ADDRESS /etc/netplan /etc/NetworkManager` and take it out there", "ip address"},
    {"link-slow", "a link of a DGX Spark runs below 200 Gb/s",
     "a breakout or 100G cable, or autonegotiation with the switch has settled on fewer lanes",
     "take a 200G cable; on the switch force 200G-baseCR4 and switch autonegotiation off",
     "/sys/class/net/INTERFACE/speed"},
    {"pcie-narrow", "an adapter uses fewer PCIe lanes than it has",
     "the BIOS has connected the second half with two lanes (before 2026-04 on some GX10), or the adapter came up "
     "badly",
     "update the BIOS (fwupdmgr update), shut down, pull the power cord for 90 s, boot",
     "/sys/class/net/INTERFACE/device/current_link_width"},
    {"pcie-slow", "an adapter's PCIe link runs below its highest speed",
     "the link has come up badly, or the firmware saves power",
     "shut down, pull the power cord for 90 s, boot; look at LnkSta of `lspci -vv`",
     "/sys/class/net/INTERFACE/device/current_link_speed"},
    {"link-flapping", "a link has lost its carrier many times since the boot",
     "a cable that does not sit well or is worn, or a peer that reboots again and again",
     "reseat the cable at both ends, replace it if the count keeps rising", "/sys/class/net/INTERFACE/carrier_changes"},
});

}  // namespace sparkplan
