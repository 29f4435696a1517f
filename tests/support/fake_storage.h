#pragma once

#include <string>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Gives the node a systemd that knows mount units and the units that connect NVMe subsystems, and blkid, mkdir,
/// rmdir, mount, nvme, perl, udevadm, find, readlink and journalctl, as far as sparkplan uses them. What they change
/// is seen where the kernel shows it: /proc/self/mountinfo, /sys/class/nvme, /dev/disk/by-id. What the world
/// around the node is like lies in files below /fake:
///   /fake/devices/NAME   the file system that blkid finds on /dev/NAME; its links are /run/udev/data/b259:NAME
///   /fake/servers/NQN    an NVMe server offers the subsystem; its text is the name of its device
///   /fake/held           devices that a container holds, one to a line
///   /fake/inactive       units that are not up, one to a line: to stop them does nothing
///   /fake/required-by    "UNIT OTHER" to a line: OTHER requires UNIT
///   /fake/busy           targets that cannot be unmounted, one to a line
void install_fake_storage(FakeNode& node);

/// A line of /proc/self/mountinfo, as if somebody had mounted it.
void add_mount(FakeNode& node, const std::string& source, const std::string& target, const std::string& type,
               const std::string& options);
/// The kernel is connected to the subsystem, whose server must be there.
void connect_subsystem(FakeNode& node, const std::string& subsystem, const std::string& address, int port,
                       const std::string& state = "live");

}  // namespace sparkplan::test
