#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Firmware, kernel, memory, services, time and mounts of a machine.
// Sources: public reports of DGX Spark owners, the guides of NVIDIA and others, netplan(5), the kernel's ip-sysctl.rst.
inline constexpr auto kMachineRows = std::to_array<DoctorRow>({
    {"bios-old", "the BIOS is from before 2026-04, and the adapter is not seen with all its PCIe lanes",
     "it can give the second half of the adapter only two PCIe lanes, or fail to start the adapter correctly",
     "run `fwupdmgr update`, shut down, pull the power cord for 90 s, then boot; do not just reboot after the update",
     "/sys/class/dmi/id/bios_date"},
    {"driver-old", "the GPU driver is older than 580.159.03",
     "older drivers can leave the ConnectX-7 at 13 Gb/s, and 580.95 and 580.126 fail inside cuBLAS and cuDNN",
     "update DGX OS as a whole, from the DGX Dashboard: a driver newer than its firmware does not start the GPU",
     "/proc/driver/nvidia/version"},
    {"kernel-handover", "kernel 7.0.0-1019-nvidia or 7.0.0-31 without kho=off",
     "kexec handover uses up the contiguous memory that registering RDMA memory needs",
     "add kho=off to the kernel's command line (safe while /sys/kernel/kexec_crash_size is 0), or install kernel "
     "6.17.0-1031-nvidia or -1032-nvidia and hold it",
     "uname -r, /proc/cmdline"},
    {"contiguous-memory-lost", "CmaFree is larger than CmaTotal",
     "the kernel has lost its contiguous memory: registering memory fails although memory is free",
     "add kho=off to the kernel's command line, then boot", "/proc/meminfo: CmaTotal, CmaFree"},
    {"memory-short", "less than 4 GiB of memory is available",
     "GPU and CPU share the memory: if NCCL or a test takes more, the machine freezes",
     "stop the programs that use it (`nvidia-smi`, `ps aux --sort=-rss`) before you measure; an engine that serves "
     "from "
     "its share of the memory is no fault",
     "/proc/meminfo: MemAvailable"},
    {"earlyoom-runs", "earlyoom is running and spares no program",
     "it kills ranks that use most of the memory, and NCCL reports nothing",
     "exempt the ranks, with `files: [{path: /etc/default/earlyoom, content: ...}]` and --avoid PATTERN in its "
     "EARLYOOM_ARGS, or stop earlyoom while they run",
     "systemctl show earlyoom.service, /proc/PID/cmdline"},
    {"logins-end-jobs", "logind removes the login user's shared memory when that user's last login ends",
     "any SSH login of that user, `sparkplan drift` from cron included, ends a job of that user in a container or "
     "service",
     "use `profile: dgx-spark`, which sets RemoveIPC=no for logind, or run `sudo loginctl enable-linger USER`",
     "org.freedesktop.login1.Manager RemoveIPC, /var/lib/systemd/linger"},
    {"half-switched-off", "a unit from a known guide takes interfaces down at boot",
     "it disables the other half of the cabled port as unused: 12 GB/s instead of 23",
     "run `systemctl disable --now UNIT`", "systemctl show disable-unused-nics.service"},
    {"clock-not-synchronised", "the clock is not synchronised",
     "no time server is reachable; logins by certificate, TLS and Ray fail when clocks differ",
     "`units: [{name: systemd-timesyncd.service, enabled: true, state: started}]` in cluster.yaml, then check "
     "`timedatectl timesync-status`",
     "timedatectl show -p NTPSynchronized"},
    {"sshd-without-pam", "sshd does not use PAM", "without PAM, the limits that are set for logins do not apply",
     "set UsePAM yes in /etc/ssh/sshd_config", "sshd -T"},
    {"fstab-unstable-device", "a line of fstab uses a device name that can change",
     "names like nvme1n1 follow the order in which devices appear: another disk can be mounted",
     "name it by UUID= or /dev/disk/by-id", "/etc/fstab"},
    {"fstab-without-nofail", "a network mount has no nofail option",
     "while its server is off, the machine does not finish booting", "add nofail,x-systemd.device-timeout=15s",
     "/etc/fstab"},
    {"nvme-not-live", "an NVMe device over the network is not connected",
     "its target does not answer, or refuses this node's NQN",
     "check `nvme list-subsys` and the target; check the network with `sparkplan verify --level mtu`",
     "/sys/class/nvme/*/state"},
});

}  // namespace sparkplan
