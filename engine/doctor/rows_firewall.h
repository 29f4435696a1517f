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
});

}  // namespace sparkplan
