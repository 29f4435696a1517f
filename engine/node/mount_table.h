#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"

/// The mounts of a machine.
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
  std::uint64_t id = 0;                    ///< Of this mount until it ends, as statx(2) gives it.

  bool has_option(std::string_view option) const;
  /// The mount, or the file system below it.
  bool read_only() const;
  /// True for FUSE of a user other than root. Its server is a program of that user, and may never answer.
  /// Source: fuse_show_options() of fs/fuse/inode.c.
  bool made_by_a_user() const;
};

/// Pure. In the order of the file: of two mounts at one target the later one is visible.
std::vector<MountedFileSystem> parse_mountinfo(std::string_view text);

/// I/O, read-only. A user can mount FUSE at paths of any length, so lines above 64 KiB are left out. So are mounts of
/// users above 16 MiB of lines. A server of NFS words the paths of the mounts that appear below a mount of it: these
/// are left out above 2 MiB of lines for each of its mounts, and above 16 MiB for all.
/// Errors: as NodeReader::read_lines(); kUnsupported if all other mounts have more than 16 MiB.
Result<std::vector<MountedFileSystem>> mounted_file_systems(const NodeReader& node);

/// The visible mount at `target`; null if nothing is mounted there.
const MountedFileSystem* mounted_at(const std::vector<MountedFileSystem>& mounts, std::string_view target);

/// The innermost mount at or above `path`, which has no final '/': the visible one, if several are at one target. Null
/// if no mount is at "/" either.
const MountedFileSystem* mount_around(const std::vector<MountedFileSystem>& mounts, std::string_view path);

/// Pure. The kernel's table and fstab write blanks, tabs, newlines and backslashes in octal: "\040" is a blank.
std::string without_octal(std::string_view text);

}  // namespace sparkplan
