#pragma once

#include <optional>
#include <set>
#include <string>

#include "engine/core/result.h"
#include "engine/domain/storage/mount_table.h"
#include "engine/node/node.h"

/// By which names a block device is known. I/O, read-only, no program; of a machine that is running.
namespace sparkplan::mount {

/// "253:0" for the device behind "/dev/sda1", "/dev/mapper/mpatha" or "/dev/VG/LV". Nothing where the kernel shows none
/// of that name, and for all other links.
/// Source: the kernel's Documentation/ABI/testing/sysfs-block-dm; lvm(8), "dmsetup info" on names with hyphens.
Result<std::optional<std::string>> device_number(const std::string& path, const NodeReader& node);

/// udev's record of the device that is mounted. Nothing where there is none, or the device cannot be found.
/// Source: the format of /run/udev/data, lines "S:LINK".
Result<std::optional<std::string>> udev_record(const MountedFileSystem& mounted, const NodeReader& node);

/// All links below /dev to what is mounted: those of udev, and the one that our rule makes, also where the rule is not
/// there yet. None for a device that the machine has lost: to that nobody writes.
/// Errors: kFailed where nobody can tell; those of NodeReader::read_file().
Result<std::set<std::string>> links_to_mounted(const MountedFileSystem& mounted, const NodeReader& node);

/// The same of a device by its name, mounted or not. None where the machine has no such device now.
Result<std::set<std::string>> links_to_device(const std::string& path, const NodeReader& node);

}  // namespace sparkplan::mount
