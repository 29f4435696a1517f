#include "engine/domain/storage/served_directory.h"

#include <utility>
#include <vector>

#include "engine/core/bounded_text.h"
#include "engine/domain/storage/mount_table.h"
#include "engine/domain/storage/storage.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestSource = 200;

/// A user who mounts something may choose its source.
std::string shown_mount(const MountedFileSystem& mount) {
  return shown_text(mount.type + " " + mount.source, kLongestSource);
}

}  // namespace

std::string served_by(const std::filesystem::path& directory, const NodeReader& node) {
  if (!node.live()) return {};
  const std::filesystem::path path = directory.lexically_normal();
  const Result<std::vector<MountedFileSystem>> mounts = mounted_file_systems(node);
  if (!mounts) return mounts.error().code == ErrorCode::kNotFound ? "" : "an unknown file system";
  const MountedFileSystem* system = mounted_at(*mounts, "/");
  const MountedFileSystem* found = nullptr;
  for (const MountedFileSystem& mount : *mounts) {
    const bool is_of_system = mount.target == "/" || (system != nullptr && mount.device == system->device);
    if (is_of_system || !is_within(path.string(), mount.target)) continue;
    if (found == nullptr || mount.target.size() >= found->target.size()) found = &mount;
  }
  if (found != nullptr) return shown_mount(*found);
  // All names up to `path` are in the system's own file system, unless one of them is a link. The look begins at
  // the top, because a name below a link may be anywhere.
  std::filesystem::path above = "/";
  for (const std::filesystem::path& name : path.parent_path().relative_path()) {
    above /= name;
    const Result<FileStatus> status = node.status(above);
    if (status && status->kind == FileStatus::Kind::kSymlink) return "what the link " + above.string() + " leads to";
  }
  return {};
}

}  // namespace sparkplan
