#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Kernels and packages: what runs, what the next boot starts, and what an upgrade may change.
// Sources: public reports of DGX Spark owners, NVIDIA's forum, apt-mark(8).
inline constexpr auto kSoftwareRows = std::to_array<DoctorRow>({
    {"kernel-loses-adapter", "the kernel is 6.17.0-1021 or 6.17.0-1029",
     "its hot-plug driver switches the ConnectX-7 off some seconds after the boot",
     "install kernel 6.17.0-1031-nvidia or -1032-nvidia, reboot, and hold it: `packages: [{name: NAME, hold: true}]`",
     "uname -r"},
    {"kernel-next-bad", "the next boot starts a kernel with a known fault",
     "an upgrade installed it; the running kernel does not have the fault",
     "remove that kernel's packages before you reboot, and hold the good ones: `packages: [{name: NAME, hold: true}]`",
     "/boot, /proc/cmdline"},
    {"reboot-pending", "a reboot is pending",
     "an upgrade installed a kernel, a driver or a library that runs only after a boot; the next boot, also an "
     "unplanned one, changes the machine",
     "reboot when no job runs, all nodes alike; hold the packages for as long as nothing may change: `packages: "
     "[{name: NAME, hold: true}]`",
     "/boot, uname -r, /var/run/reboot-required, /var/lib/dpkg/status"},
    {"holds-missing", "an upgrade can change the kernel or the driver alone",
     "kernel, driver and firmware work only as a set; unattended upgrades are on and nothing is held, or only a part "
     "of "
     "the set is",
     "hold all of them, and remove the holds before an update of DGX OS: `packages: [{name: NAME, hold: true}]` in "
     "cluster.yaml",
     "/var/lib/dpkg/status, /etc/apt/apt.conf.d"},
    {"driver-unsupported", "the GPU driver is of branch 590 or 595",
     "the DGX Spark runs with branch 580: 590 loses memory, 595 does not support it",
     "purge the driver's packages, and install the set of the DGX OS image again (nvidia-driver-580-open)",
     "/proc/driver/nvidia/version"},
    {"driver-packages-mixed", "the packages of the GPU driver do not belong together",
     "a driver for servers, one without -open, parts for NVSwitch, or firmware of another release: the GPU does not "
     "start after the next boot, or is not supported",
     "finish the update of DGX OS, or purge the packages that are named and install those of the image",
     "/var/lib/dpkg/status"},
});

}  // namespace sparkplan
