#include "engine/domain/storage/served_directory.h"

#include <utility>
#include <vector>

#include "engine/core/bounded_text.h"
#include "engine/domain/storage/storage.h"
#include "engine/node/mount_table.h"

namespace sparkplan {
namespace {

constexpr std::size_t kLongestSource = 200;

/// A user who mounts something may choose its source.
std::string shown_mount(const MountedFileSystem& mount) {
  return shown_text(mount.type + " " + mount.source, kLongestSource);
}

/// True if homes below the mount wait for one server. An automounter asks another one for each.
bool is_shared(const MountedFileSystem& mount, const std::string& home) {
  return mount.target != home && mount.type != "autofs";
}

/// The first link on the way to a directory; empty without one. The look begins at the top, because a name below a link
/// may be anywhere.
std::filesystem::path link_above(const std::filesystem::path& directory, const NodeReader& node) {
  std::filesystem::path above = "/";
  for (const std::filesystem::path& name : directory.parent_path().relative_path()) {
    above /= name;
    const Result<FileStatus> status = node.status(above);
    if (status && status->kind == FileStatus::Kind::kSymlink) return above;
  }
  return {};
}

}  // namespace

UserPath path_in_home(const std::filesystem::path& home, std::filesystem::path below, const NodeReader& node) {
  UserPath path{home, std::move(below)};
  if (!node.live()) return path;
  std::filesystem::path directory = home.lexically_normal();
  if (!directory.has_filename()) directory = directory.parent_path();
  const Result<std::vector<MountedFileSystem>> mounts = mounted_file_systems(node);
  if (!mounts) {
    if (mounts.error().code != ErrorCode::kNotFound) path.served_by = "an unknown file system";
    return path;
  }
  const MountedFileSystem* system = mounted_at(*mounts, "/");
  const MountedFileSystem* found = nullptr;
  for (const MountedFileSystem& mount : *mounts) {
    const bool is_of_system = mount.target == "/" || (system != nullptr && mount.device == system->device);
    if (is_of_system || !is_within(directory.string(), mount.target)) continue;
    if (found == nullptr || mount.target.size() >= found->target.size()) found = &mount;
  }
  if (found != nullptr) {
    path.served_by = shown_mount(*found);
    if (is_shared(*found, directory.string())) path.shared_mount = found->target;
    return path;
  }
  // All names up to the home are in the system's own file system, unless one of them is a link.
  const std::filesystem::path link = link_above(directory, node);
  if (!link.empty()) path.served_by = "what the link " + link.string() + " leads to";
  return path;
}

}  // namespace sparkplan
