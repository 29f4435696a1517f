#pragma once

#include <cstdint>
#include <filesystem>
#include <set>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan {

/// Opens files of the live machine, and enters no file system that one of its users has mounted. A user can mount FUSE
/// on each file and directory that they own. Its server is a program of that user, which may never answer.
class UserMounts {
 public:
  /// As open(2), with O_CLOEXEC. It asks no server of a user, whatever the user mounts meanwhile. On a kernel
  /// before 5.8 it does not know such mounts. `node` is the live machine. Errors: those of open(2); kRefused, with the
  /// path and the mount, if the file is in a mount of a user.
  Result<FileDescriptor> open(const std::filesystem::path& path, int flags, std::uint32_t mode, const NodeReader& node);

 private:
  /// Errors: kRefused for a mount of a user.
  Result<void> check_mount(std::uint64_t id, const std::filesystem::path& path, const NodeReader& node);
  bool table_has_changed();

  /// The ids of mounts that no user has made, in the part of the table that was read since it last changed.
  std::set<std::uint64_t> others_;
  /// Shows whether a mount has come or gone since.
  FileDescriptor table_;
};

}  // namespace sparkplan
