#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Network configuration and routes.
// Sources: public reports of DGX Spark owners, the guides of NVIDIA and others, netplan(5), the kernel's ip-sysctl.rst.
inline constexpr auto kNetworkRows = std::to_array<DoctorRow>({
    {"twins-share-network", "two interfaces of the fabric are in the same network",
     "one network on two interfaces makes ARP and routes ambiguous: half of the traffic uses the wrong one",
     "give each half a subnet of its own (`fabric: {subnets: [...]}`) and apply", "ip address"},
    {"profile-dhcp", "NetworkManager gets addresses by DHCP on an interface of the fabric",
     "an automatically created or old profile takes over the interface at boot: the declared address vanishes, "
     "and a default route can appear on the fabric",
     "run `sparkplan apply` with `fabric: {adopt: take-over}`, or `nmcli connection modify ID connection.autoconnect "
     "no` "
     "and `nmcli connection down ID`",
     "/run and /etc/NetworkManager/system-connections"},
    {"netplan-mode", "users other than root can read a netplan file",
     "it was created with the default mode; netplan warns about it at every run, and it may hold secrets",
     "chmod 600 FILE", "/etc/netplan, /run/netplan, /usr/lib/netplan"},
    {"netplan-refuses", "netplan rejects its files",
     "if netplan cannot parse one file, it rejects all files, also the fabric's",
     "correct or remove the file that netplan names; then check that `netplan get` succeeds", "netplan get"},
    {"route-default", "a default route leads through the fabric",
     "a DHCP profile or a gateway on an interface of the fabric; the node may be unreachable, or reach nothing",
     "remove the gateway or the profile (`nmcli connection show`); the fabric has no gateway", "ip route"},
    {"route-elsewhere", "a network of the fabric is reached through another interface",
     "another interface has an address or route of the same network, which takes precedence",
     "choose other `fabric: subnets`, or remove that route", "ip route show table all"},
    {"route-link-down", "a route goes through an interface that has no carrier",
     "a stale interface, bond or profile keeps it; packets on that route are lost",
     "remove the address or the profile from that interface",
     "ip route (linkdown); a bridge without members, such as docker0, is no fault"},
    {"rp-filter-strict", "an interface of the fabric uses strict reverse-path filtering",
     "with several interfaces, replies can arrive on another one than the request used, and are silently dropped",
     "sysctl: {net.ipv4.conf.INTERFACE.rp_filter: 2}", "/proc/sys/net/ipv4/conf/*/rp_filter"},
});

/// Packet filters.
inline constexpr auto kFirewallRows = std::to_array<DoctorRow>({
    {"firewall-drops", "the firewall drops incoming traffic of the fabric",
     "a firewall that denies by default, such as ufw, opens only named ports; NCCL, Ray and MPI use any port",
     "allow the fabric: `firewall: {allow_fabric: true}` in cluster.yaml, or `ufw allow in on INTERFACE`",
     "nft list ruleset or iptables-save, iptables-legacy-save, /etc/ufw/ufw.conf"},
    {"forward-drops", "the node drops packets that another node sends through it",
     "another node has a route through this one, but Docker has set the policy of FORWARD to drop, or ip_forward is 0; "
     "it looks like a dead cable",
     "`sysctl: {net.ipv4.ip_forward: 1}` in cluster.yaml, and a rule for the interfaces, such as `iptables -I "
     "DOCKER-USER -i IN -o OUT -j ACCEPT`; a unit of yours in `units` sets it again after each boot",
     "nft list ruleset or iptables-save, /proc/sys/net/ipv4/ip_forward, ip route on the other nodes"},
});

}  // namespace sparkplan
