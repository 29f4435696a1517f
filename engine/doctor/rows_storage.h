#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Storage that cluster.yaml declares.
inline constexpr auto kStorageRows = std::to_array<DoctorRow>({
    {"storage-not-mounted", "a declared mount is not there",
     "it was never applied, it was unmounted, or its server has not been reached since the boot",
     "run `sparkplan apply`; `systemctl status UNIT.mount` says what the last try came to", "/proc/self/mountinfo",
     "storage"},
    {"storage-other-source", "something else is mounted at the target",
     "it was mounted by hand or by fstab, or the volume behind the name is another one",
     "unmount it (`findmnt TARGET` shows it), take its line out of /etc/fstab, then run `sparkplan apply`",
     "/proc/self/mountinfo, /sys/class/block/DEVICE/device/subsysnqn", "storage"},
    {"storage-other-options", "the mount has other options than declared",
     "it was remounted, or the kernel made it read only after an error",
     "look for errors of the device in `journalctl -k`; otherwise run `sparkplan apply`", "/proc/self/mountinfo",
     "storage"},
    {"storage-server-silent", "the NVMe server does not answer, and reads wait for it",
     "the server is off or restarting, or something on the way drops its packets",
     "look at the server and at `ping` to its address; the node connects again by itself, without end",
     "/sys/class/nvme/CONTROLLER/state", "storage"},
    {"storage-not-connected", "the NVMe subsystem is not connected",
     "its server has not been reached since the boot, or it was disconnected",
     "run `sparkplan apply`, which says what the server answers; `journalctl -u sparkplan-nvme-NQN` has the tries",
     "/sys/class/nvme", "storage"},
    {"storage-unreadable", "what is mounted cannot be read",
     "the device or the server fails, or the file system is damaged",
     "look at `journalctl -k` of the node, then at the server; let a file system be checked while no node has it "
     "mounted",
     "a bounded read of the mount", "storage"},
});

}  // namespace sparkplan
