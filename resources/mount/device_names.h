#pragma once

#include <optional>
#include <set>
#include <string>

#include "engine/core/result.h"
#include "engine/node/mount_table.h"
#include "engine/node/node.h"

/// The names of block devices. I/O, read-only, no program; for running machines only.
namespace sparkplan::mount {

/// udev's record of the mounted device. Nothing if udev has no record, or if the device cannot be found.
/// Source: the format of /run/udev/data, lines "S:LINK".
Result<std::optional<std::string>> udev_record(const MountedFileSystem& mounted, const NodeReader& node);

struct DeviceNames {
  /// All links below /dev to the device: udev's links, and our rule's link even before the rule exists.
  std::set<std::string> links;
  /// As servers_behind(). A server chooses the links: it reports NQN and serial number, and can write any UUID.
  std::set<std::string> servers;
};

/// The names of the mounted device. None for a device that the machine has lost, because writes to it go nowhere.
/// Errors: kFailed if the names cannot be determined; those of NodeReader::read_file().
Result<DeviceNames> names_of_mounted(const MountedFileSystem& mounted, const NodeReader& node);

/// As names_of_mounted(), for a device by its name, mounted or not. None if the machine does not have the device now.
Result<DeviceNames> names_of_device(const std::string& path, const NodeReader& node);

}  // namespace sparkplan::mount
