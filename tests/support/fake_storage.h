#pragma once

#include <string>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Gives the node a systemd with mount units and the units that connect NVMe subsystems. Also adds blkid, mount,
/// nvme, perl, udevadm, find, readlink and journalctl, as far as sparkplan uses them. Their changes are visible
/// where the kernel shows them: /proc/self/mountinfo, /sys/class/nvme, /dev/disk/by-id. Files below /fake describe the
/// node's environment:
///   /fake/devices/NAME   the file system that blkid finds on /dev/NAME; its links are /run/udev/data/b259:NAME
///   /fake/servers/NQN    an NVMe server offers the subsystem; its text is the name of its device
///   /fake/held           devices that a container holds, one per line
///   /fake/inactive       inactive units, one per line: stopping them has no effect
///   /fake/required-by    "UNIT OTHER" per line: OTHER requires UNIT
///   /fake/busy           targets that cannot be unmounted, one per line
void install_fake_storage(FakeNode& node);

/// Adds a line to /proc/self/mountinfo, as a user's mount does.
void add_mount(FakeNode& node, const std::string& source, const std::string& target, const std::string& type,
               const std::string& options);
/// Connects the kernel to the subsystem; its server must exist.
void connect_subsystem(FakeNode& node, const std::string& subsystem, const std::string& address, int port,
                       const std::string& state = "live");

}  // namespace sparkplan::test
