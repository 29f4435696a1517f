#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

/// The mounts of a machine, and its fstab.
namespace sparkplan {

/// One line of /proc/self/mountinfo. Source: proc(5).
struct MountedFileSystem {
  std::string device;  ///< "259:0"; "0:..." without a block device.
  std::string root;    ///< The directory within the file system that is mounted.
  std::string target;
  std::vector<std::string> options;        ///< Of this mount: "ro", "noatime".
  std::string type;                        ///< "ext4"
  std::string source;                      ///< "/dev/nvme0n1", "server:/path", "tmpfs".
  std::vector<std::string> super_options;  ///< Of the file system, for all its mounts.

  bool has_option(std::string_view option) const;
  /// The mount, or the file system below it.
  bool read_only() const;
};

/// Pure. In the order of the file: of two mounts at one target the later one is visible.
std::vector<MountedFileSystem> parse_mountinfo(std::string_view text);

/// I/O, read-only. A user can mount FUSE at paths of any length, so lines above 64 KiB are left out. So are mounts of
/// users above 16 MiB of lines.
/// Errors: as NodeReader::read_lines(); kUnsupported if all other mounts have more than 16 MiB.
Result<std::vector<MountedFileSystem>> mounted_file_systems(const NodeReader& node);

/// The visible mount at `target`; null if nothing is mounted there.
const MountedFileSystem* mounted_at(const std::vector<MountedFileSystem>& mounts, std::string_view target);

/// One line of fstab(5).
struct FstabLine {
  int line = 0;  ///< From 1.
  std::string source;
  std::string target;
  std::string type;                  ///< "ext4", "auto", "ext4,xfs"; may be empty.
  std::vector<std::string> options;  ///< Empty means "defaults".
};
/// Pure. Lines without a target are left out.
std::vector<FstabLine> parse_fstab(std::string_view text);

/// I/O, read-only. "nvme1n1" for "nvme1n1" and for its partition "nvme1n1p2". Source: disk_name() in the kernel's
/// block/partitions/core.c.
Result<std::string> whole_disk_of(const std::string& name, const NodeReader& node);

/// I/O, read-only. The NQN of the subsystem behind a block device such as "/dev/nvme0n1", or behind one of its
/// partitions; empty for all others.
/// Source: the kernel's Documentation/ABI/stable/sysfs-class-nvme and drivers/nvme/host/sysfs.c.
Result<std::string> subsystem_behind(const std::string& device, const NodeReader& node);

/// I/O, read-only. True if the block device at `path` ("/dev/nvme1n1", "/dev/mapper/data") is in exclusive use: it or
/// one of its partitions is mounted in any mount namespace, is swap space, or is part of another device. False if the
/// device does not exist. Waits up to a second for programs that open it only briefly.
/// Errors: kFailed if the check is impossible, and as NodeReader::query().
Result<bool> is_held(const std::string& path, const NodeReader& node);

}  // namespace sparkplan
