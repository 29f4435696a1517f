#pragma once

#include <array>

#include "engine/doctor/doctor_row.h"

namespace sparkplan {

/// Properties that must be equal on all nodes, and properties that must differ.
inline constexpr auto kParityRows = std::to_array<DoctorRow>({
    {"differs-kernel", "the nodes run different kernels", "not all were updated, or not all were rebooted since",
     "install the same version on all, then reboot", "uname -r"},
    {"differs-system", "the nodes run different systems", "not all were installed from the same image",
     "install the same release on all", "/etc/os-release"},
    {"differs-driver", "the nodes have different GPU drivers",
     "not all were updated, or not all were rebooted since; NCCL and CUDA then behave differently",
     "install the same version on all, then reboot", "/proc/driver/nvidia/version"},
    {"differs-firmware", "the adapters have different firmware", "not all were updated",
     "fwupdmgr update on all, shut down, pull the power cord for 90 s, then boot", "/sys/class/infiniband/HCA/fw_ver"},
    {"differs-bios", "nodes of one manufacturer have different BIOSes", "not all were updated",
     "run `fwupdmgr update` on all, shut down, pull the power cord for 90 s, then boot",
     "/sys/class/dmi/id/sys_vendor, bios_version"},
    {"differs-memory", "the nodes have different amounts of memory",
     "the cluster mixes models with 64 GB and 128 GB; what fits into one does not fit into the other",
     "build clusters from equal machines", "/proc/meminfo: MemTotal"},
    {"differs-user", "the login user has a different uid or name on some nodes",
     "the accounts were created separately; files on shared storage then belong to another user",
     "make them the same (`usermod -u`, and chown their files)", "/proc/PID/status of the session"},
    {"differs-management-interface", "the management interfaces have different names",
     "some nodes are reached by cable, others by Wi-Fi or another port; NCCL_SOCKET_IFNAME fits only some of them",
     "reach all through the same port, or set the variable per node", "the address of the node, ip address"},
    {"differs-mtu", "the MTU of the fabric differs between nodes",
     "cluster.yaml or a change on a node sets different MTUs; large packets are then silently lost",
     "set one `fabric: mtu` for all and apply", "ip link"},
    {"shared-host-nqn", "several nodes have the same NVMe host NQN",
     "they were cloned from one image; the target treats them as one machine",
     "run `nvme gen-hostnqn > /etc/nvme/hostnqn` on each, and write a new /etc/nvme/hostid", "/etc/nvme/hostnqn"},
    {"shared-machine-id", "several nodes have the same machine id",
     "they were cloned from one image; DHCP gives them the same address",
     "log in to both, as a node can report any id; on a copy: rm /etc/machine-id, systemd-machine-id-setup, reboot",
     "/etc/machine-id"},
    {"shared-host-key", "several nodes have the same SSH host key",
     "they were cloned from one image; each of them can impersonate the others",
     "log in to both, as a node can report any key; on a copy: rm /etc/ssh/ssh_host_*, ssh-keygen -A, `sparkplan "
     "trust NODE`",
     "/etc/ssh/ssh_host_*_key.pub"},
});

}  // namespace sparkplan
