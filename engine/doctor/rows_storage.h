#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Storage that cluster.yaml declares.
inline constexpr auto kStorageRows = std::to_array<DoctorRow>({
    {"storage-not-mounted", "a declared file system is not mounted",
     "it was never applied, it was unmounted, or its server was unreachable since boot",
     "run `sparkplan apply`; `systemctl status UNIT.mount` shows the result of the last try", "/proc/self/mountinfo",
     "storage"},
    {"storage-other-source", "a different source is mounted at the target",
     "it was mounted by hand or by fstab, or the name now refers to another volume",
     "unmount it (`findmnt TARGET` shows it), remove its line from /etc/fstab, then run `sparkplan apply`",
     "/proc/self/mountinfo, /sys/class/block/DEVICE/device/subsysnqn", "storage"},
    {"storage-other-options", "the mount does not have the declared options",
     "it was remounted, or the kernel made it read-only after an error",
     "check `journalctl -k` for errors of the device; if it shows none, run `sparkplan apply`", "/proc/self/mountinfo",
     "storage"},
    {"storage-server-silent", "the NVMe server does not answer, and programs that read from it hang",
     "the server is off or restarting, or a device on the path drops its packets",
     "check the server, and `ping` its address; the node retries the connection indefinitely",
     "/sys/class/nvme/CONTROLLER/state", "storage"},
    {"storage-not-connected", "the NVMe subsystem is not connected",
     "its server was unreachable since boot, or the subsystem was disconnected",
     "run `sparkplan apply`, which prints the server's answer; `journalctl -u sparkplan-nvme-NQN` lists the attempts",
     "/sys/class/nvme", "storage"},
    {"storage-unreadable", "the mounted file system cannot be read",
     "the device or the server fails, or the file system is damaged",
     "check `journalctl -k` of the node, then the server; run a file system check only while no node has it "
     "mounted",
     "a bounded read of the mount", "storage"},
});

}  // namespace sparkplan
