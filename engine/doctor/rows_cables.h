#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// The other ends of the fabric's cables: level link.
inline constexpr auto kCableRows = std::to_array<DoctorRow>({
    {"cable-elsewhere", "the cable goes to another port than cluster.yaml says",
     "the cable is in the wrong port, at this end or at the other, or the file describes another cabling",
     "put the cable where the file says (`ethtool -p INTERFACE` blinks a port), or say in the file how it is: "
     "`fabric: port`, `topology`, `cables`",
     "frames of EtherType 0x88B5 from agent to agent", "link"},
    {"cable-nobody", "there is a carrier, and no other node of the cluster is on that wire",
     "the cable goes to a machine that is not in the file, or into a switch port of another VLAN or bridge",
     "follow the cable (`ethtool -p INTERFACE` blinks its port), and look at the switch's bridges and VLANs",
     "frames of EtherType 0x88B5 from agent to agent", "link"},
    {"cable-some", "some of the nodes that the switch should join are not on that wire",
     "their cables go elsewhere, or the switch keeps some of its ports apart: a second bridge, a VLAN, RSTP",
     "compare the port of the missing node with the others: one bridge, one VLAN, RSTP off or edge",
     "frames of EtherType 0x88B5 from agent to agent", "link"},
});

}  // namespace sparkplan
