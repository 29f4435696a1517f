#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

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
