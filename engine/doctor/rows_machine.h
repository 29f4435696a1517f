#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Firmware, kernel, memory, services, time and mounts of a machine.
// Sources: public reports of DGX Spark owners, the guides of NVIDIA and others, netplan(5), the kernel's ip-sysctl.rst.
inline constexpr auto kMachineRows = std::to_array<DoctorRow>({
    {"bios-old", "the BIOS is from before 2026-04",
     "it may give the second half of the adapter two PCIe lanes only, or start the adapter badly",
     "fwupdmgr update, shut down, pull the power cord for 90 s, boot; never a warm boot right after it",
     "/sys/class/dmi/id/bios_date"},
    {"driver-old", "the GPU driver is older than 580.159.03", "with older ones the ConnectX-7 can come up at 13 Gb/s",
     "bring DGX OS up to date: apt full-upgrade, then boot", "/proc/driver/nvidia/version"},
    {"kernel-handover", "kernel 7.0.0-1019 without kho=off",
     "kexec handover takes the contiguous memory away that registering memory needs",
     "add kho=off to the kernel's command line, or take kernel 6.17.0-1031-nvidia with driver 580.173.02",
     "uname -r, /proc/cmdline"},
    {"contiguous-memory-lost", "the kernel has lost its contiguous memory",
     "registering memory then fails with memory free: Cannot allocate memory", "boot with kho=off",
     "/proc/meminfo: CmaTotal, CmaFree"},
    {"memory-short", "less than 4 GiB of memory are available",
     "GPU and processor share the memory: NCCL or a test that takes more freezes the machine",
     "stop what holds it (`nvidia-smi`, `ps aux --sort=-rss`) before anything is measured",
     "/proc/meminfo: MemAvailable"},
    {"earlyoom-runs", "earlyoom is at work", "it kills ranks that take most of the memory, without a message from NCCL",
     "exempt them (`--avoid`), or stop it while they run", "systemctl show earlyoom.service"},
    {"half-switched-off", "a unit of a known guide takes interfaces down at boot",
     "it switches off the other half of the cabled port as unused: 12 GB/s in place of 23",
     "systemctl disable --now UNIT; netplan and sysctl.d do the rest of what it does",
     "systemctl show disable-unused-nics.service rdma-optimize.service"},
    {"clock-not-synchronised", "the clock is not synchronised",
     "no time server is reached; logins by certificate, TLS and Ray fail when clocks differ",
     "timedatectl set-ntp true, and look at `timedatectl timesync-status`", "timedatectl show -p NTPSynchronized"},
    {"sshd-without-pam", "sshd does not use PAM", "logins then get none of the limits that are set for them",
     "set UsePAM yes in /etc/ssh/sshd_config", "sshd -T"},
    {"fstab-unstable-device", "a line of fstab names a device by a name that changes",
     "names like nvme1n1 follow the order in which devices appear: another disk may be mounted there",
     "name it by UUID= or /dev/disk/by-id", "/etc/fstab"},
    {"fstab-without-nofail", "a mount from the network is without nofail",
     "while its server is off, the machine does not finish its boot", "add nofail,x-systemd.device-timeout=15s",
     "/etc/fstab"},
    {"nvme-not-live", "an NVMe device over the network is not connected",
     "its target does not answer, or refuses this node's NQN",
     "look at `nvme list-subsys` and at the target; `sparkplan verify --level mtu` for the network",
     "/sys/class/nvme/*/state"},
});

}  // namespace sparkplan
