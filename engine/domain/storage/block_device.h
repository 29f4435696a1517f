#pragma once

#include <set>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan {

/// I/O, read-only. "nvme1n1" for "nvme1n1" and for its partition "nvme1n1p2". Source: disk_name() in the kernel's
/// block/partitions/core.c.
Result<std::string> whole_disk_of(const std::string& name, const NodeReader& node);

/// I/O, read-only. The NQN of the subsystem behind a block device such as "/dev/nvme0n1", or behind one of its
/// partitions; empty for all others.
/// Source: the kernel's Documentation/ABI/stable/sysfs-class-nvme and drivers/nvme/host/sysfs.c.
Result<std::string> subsystem_behind(const std::string& device, const NodeReader& node);

/// I/O, read-only. The addresses of the NVMe controllers across a network that are behind a block device, or behind a
/// device that it consists of, such as a disk of its volume group. Empty for a local device. `name` is the kernel's:
/// "nvme1n1p1", "dm-0".
/// Source: nvmf_get_address() in drivers/nvme/host/fabrics.c; the kernel's Documentation/ABI/stable/sysfs-block.
Result<std::set<std::string>> servers_behind(const std::string& name, const NodeReader& node);

/// I/O, read-only. The addresses of all NVMe controllers across a network that the machine is connected to.
Result<std::set<std::string>> nvme_servers(const NodeReader& node);

/// I/O, read-only. True if the block device at `path` ("/dev/nvme1n1", "/dev/mapper/data") is in exclusive use: it or
/// one of its partitions is mounted in any mount namespace, is swap space, or is part of another device. False if the
/// device does not exist. Waits up to a second for programs that open it only briefly.
/// Errors: kFailed if the check is impossible, and as NodeReader::query().
Result<bool> is_held(const std::string& path, const NodeReader& node);

}  // namespace sparkplan
