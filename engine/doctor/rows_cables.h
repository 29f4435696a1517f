#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

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
