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

/// "10.0.0.9, 10.0.0.10 and 3 more". Pure.
std::string in_words(const std::set<std::string>& servers);

/// Two devices that both have one of udev's links. One of them at least is a volume of an NVMe server. It may have the
/// link by its server's choice alone, so the link does not tell which of the two is meant.
struct ContestedLink {
  std::string served;  ///< "/dev/nvme1n1"
  std::string origin;  ///< Of `served`: "a volume of the NVMe server 10.0.0.66".
  std::string other;   ///< "/dev/sdb", or with its origin.
};

/// Nothing if the link has one device, only local ones, or only those of the same servers. With `mounted`, only if that
/// is the served device. `link` is any path; only those below /dev/disk can be contested.
/// Errors: kUnsupported for more than 4096 block devices; as NodeReader::read_file().
Result<std::optional<ContestedLink>> contest_for(const std::string& link, const MountedFileSystem* mounted,
                                                 const NodeReader& node);

}  // namespace sparkplan::mount
