#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Network configuration and routes.
// Sources: public reports of DGX Spark owners, the guides of NVIDIA and others, netplan(5), the kernel's ip-sysctl.rst.
inline constexpr auto kNetworkRows = std::to_array<DoctorRow>({
    {"twins-share-network", "two interfaces of the fabric are in one network",
     "one network on two interfaces makes ARP and routes ambiguous: half of the traffic goes through the wrong one",
     "give each half a subnet of its own (`fabric: {subnets: [...]}`) and apply", "ip address"},
    {"profile-dhcp", "NetworkManager gets addresses by DHCP on an interface of the fabric",
     "a profile that it has made by itself, or an old one, takes the interface at boot: the declared address vanishes, "
     "and a default route can appear on the fabric",
     "run `sparkplan apply` with `fabric: {adopt: take-over}`, or `nmcli connection modify ID connection.autoconnect "
     "no` "
     "and `nmcli connection down ID`",
     "/run and /etc/NetworkManager/system-connections"},
    {"netplan-mode", "a netplan file can be read by others than root",
     "it was written without a mode of its own; netplan warns of it with every run, and it may hold secrets",
     "chmod 600 FILE", "/etc/netplan, /run/netplan, /usr/lib/netplan"},
    {"netplan-refuses", "netplan refuses the files that it finds",
     "one file that it cannot read makes it refuse all, also the fabric's",
     "correct or remove the file that it names; `netplan get` shows whether it is content", "netplan get"},
    {"route-default", "a default route leads through the fabric",
     "a DHCP profile or a gateway on an interface of the fabric; the node then cannot be reached, or reaches nothing",
     "take the gateway away, or the profile (`nmcli connection show`); the fabric has none", "ip route"},
    {"route-elsewhere", "a network of the fabric is reached through another interface",
     "an address or route of the same network is somewhere else on the node, and wins",
     "choose other `fabric: subnets`, or take that route away", "ip route show table all"},
    {"route-link-down", "a route goes through an interface that has no carrier",
     "a stale interface, bond or profile keeps it, and packets vanish there",
     "take the address or the profile off that interface", "ip route (linkdown)"},
    {"rp-filter-strict", "an interface of the fabric filters by reverse path, strictly",
     "with several interfaces answers may take another one than the question, and are then dropped silently",
     "sysctl: {net.ipv4.conf.INTERFACE.rp_filter: 2}", "/proc/sys/net/ipv4/conf/*/rp_filter"},
});

}  // namespace sparkplan
