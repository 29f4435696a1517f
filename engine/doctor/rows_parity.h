#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Properties that must be equal on all nodes, and properties that must differ.
inline constexpr auto kParityRows = std::to_array<DoctorRow>({
    {"differs-kernel", "the nodes run different kernels", "not all were brought up to date, or not all booted since",
     "bring all to the same, then boot", "uname -r"},
    {"differs-system", "the nodes run different systems", "not all were installed from the same image",
     "bring all to the same release", "/etc/os-release"},
    {"differs-driver", "the nodes have different GPU drivers",
     "not all were brought up to date, or not all booted since; NCCL and CUDA then differ in what they do",
     "bring all to the same, then boot", "/proc/driver/nvidia/version"},
    {"differs-firmware", "the adapters have different firmware", "not all were brought up to date",
     "fwupdmgr update on all, shut down, pull the power cord for 90 s, boot", "/sys/class/infiniband/HCA/fw_ver"},
    {"differs-bios", "the nodes have different BIOSes",
     "not all were brought up to date, or they are of several makers",
     "fwupdmgr update on all; those of several makers cannot be the same", "/sys/class/dmi/id/bios_version"},
    {"differs-memory", "the nodes have different amounts of memory",
     "models with 64 GB and 128 GB are in one cluster; what fits on the one does not on the other",
     "make clusters of equal machines", "/proc/meminfo: MemTotal"},
    {"differs-user", "the login has another number or name on some nodes",
     "the accounts were made separately; files on shared storage then belong to another user",
     "make them the same (`usermod -u`, and chown their files)", "/proc/PID/status of the session"},
    {"differs-management-interface", "the management interfaces have different names",
     "some nodes are reached by cable, others by Wi-Fi or another port; NCCL_SOCKET_IFNAME then fits some of them only",
     "reach all through the same port, or set the variable per node", "the address of the node, ip address"},
    {"differs-mtu", "the fabric has another MTU on some nodes",
     "cluster.yaml or a change on a node gives them different ones; large packets are then lost silently",
     "set one `fabric: mtu` for all and apply", "ip link"},
    {"shared-host-nqn", "nodes have one NVMe host NQN in common",
     "they were cloned from one image; the target takes them for one machine",
     "nvme gen-hostnqn > /etc/nvme/hostnqn on each, and a new /etc/nvme/hostid", "/etc/nvme/hostnqn"},
    {"shared-machine-id", "nodes have one machine id in common",
     "they were cloned from one image; DHCP gives them one address",
     "rm /etc/machine-id, systemd-machine-id-setup, boot", "/etc/machine-id"},
    {"shared-host-key", "nodes have one SSH host key in common",
     "they were cloned from one image; who has one of them can pass for any",
     "rm /etc/ssh/ssh_host_*, ssh-keygen -A, `sparkplan trust NODE`", "/etc/ssh/ssh_host_*_key.pub"},
});

}  // namespace sparkplan
