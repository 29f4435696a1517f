#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/domain/storage/mount_table.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"
#include "engine/resource/systemd_units.h"
#include "resources/mount/mount_unit.h"

namespace sparkplan::mount {

/// Fields of a mount's value.
namespace field {
inline constexpr const char* kContent = "unit";  ///< The unit file.
inline constexpr const char* kEnabled = "enabled";
inline constexpr const char* kState = "state";
}  // namespace field

/// What a field kState may say; others begin with "mounted", too, and say what is different.
namespace state {
inline constexpr const char* kMounted = "mounted";
inline constexpr const char* kNotMounted = "not mounted";
/// In front of an option that the mount lacks.
inline constexpr std::string_view kWithout = "mounted without ";
inline constexpr std::string_view kWith = "mounted with ";
/// In front of a source or type that is another one.
inline constexpr std::string_view kFrom = "mounted from ";
}  // namespace state

/// One mount on one node.
struct MountState {
  UnitFile unit;
  std::string state;  ///< See namespace state. Empty in an image.

  bool mounted() const { return state.starts_with(state::kMounted); }
};

/// Pure but for what has to be looked up of devices. How far what is mounted is what the unit says.
/// Errors: as NodeReader::read_file().
Result<std::string> compare_mounted(const MountedFileSystem& mounted, const MountUnit& unit, const NodeReader& node);

/// Pure. The file system was mounted without a look at its journal, which may be full. A remount keeps it so.
/// Source: show_options of fs/ext4/super.c, fs/xfs/xfs_super.c and fs/btrfs/super.c.
bool is_without_journal(const MountedFileSystem& mounted);

/// Pure. False where what is mounted must not become what the unit says in place: to write beside a journal
/// that nobody has replayed destroys the file system.
bool can_be_remounted(const MountedFileSystem& mounted, const MountUnit& unit);

/// I/O, read-only, no program where udev knows the device. Errors: what could not be looked at.
Result<MountState> look_at_mount(const std::string& target, const std::vector<MountedFileSystem>& mounts,
                                 const NodeReader& node);
Result<MountState> look_at_mount(const std::string& target, const NodeReader& node);

/// As the value of the resource, and of the artifact that carries it out.
Observation observation_of(const MountState& mount, bool live);

}  // namespace sparkplan::mount
