#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Packet filters.
inline constexpr auto kFirewallRows = std::to_array<DoctorRow>({
    {"firewall-drops", "the firewall drops what comes through the fabric",
     "a default of deny, as ufw has it, lets only named ports in, and NCCL, Ray and MPI choose theirs by themselves",
     "let the fabric in: `firewall: {allow_fabric: true}` in cluster.yaml, or `ufw allow in on INTERFACE`",
     "nft list ruleset or iptables-save, iptables-legacy-save, /etc/ufw/ufw.conf"},
});

}  // namespace sparkplan
