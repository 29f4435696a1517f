#include <array>

#include "engine/doctor/rows.h"

namespace sparkplan {
namespace {

constexpr auto kRows = std::to_array<DoctorRow>({
    {"link-absent", "the machine does not show the interface",
     "no cable in that port, or the ConnectX-7 is powered off",
     "plug the cable in; if it is, shut down, pull the power cord for 90 s and boot again", "ip link", "link"},
});

}  // namespace

std::span<const DoctorRow> link_rows() { return kRows; }

}  // namespace sparkplan
