#pragma once

#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/model/resource.h"
#include "engine/node/mount_table.h"
#include "engine/node/node.h"
#include "engine/resource/systemd_units.h"
#include "resources/mount/mount_unit.h"

namespace sparkplan::mount {

/// Fields of a mount's value.
namespace field = unit_field;

/// Values of kState. Other values also begin with "mounted" and name the difference.
namespace state {
inline constexpr const char* kMounted = "mounted";
inline constexpr const char* kNotMounted = "not mounted";
/// Before an option that the mount lacks.
inline constexpr std::string_view kWithout = "mounted without ";
inline constexpr std::string_view kWith = "mounted with ";
/// Before a source or type that differs.
inline constexpr std::string_view kFrom = "mounted from ";
}  // namespace state

/// One mount on one node.
struct MountState {
  UnitFile unit;
  std::string state;  ///< See namespace state. Empty in an image.

  bool mounted() const { return state.starts_with(state::kMounted); }
};

/// Compares a mount with its unit; the result is a value of namespace state. Pure except for look-ups of devices.
/// Errors: as NodeReader::read_file().
Result<std::string> compare_mounted(const MountedFileSystem& mounted, const MountUnit& unit, const NodeReader& node);

/// Pure. The file system was mounted without a replay of its journal, which may be full. A remount does not replay it.
/// Source: show_options of fs/ext4/super.c, fs/xfs/xfs_super.c and fs/btrfs/super.c.
bool is_without_journal(const MountedFileSystem& mounted);

/// Pure. False if a remount must not apply the unit's options: writes beside a journal that was not replayed destroy
/// the file system.
bool can_be_remounted(const MountedFileSystem& mounted, const MountUnit& unit);

/// I/O, read-only, no program if udev knows the device. Errors: files and devices that cannot be read.
Result<MountState> look_at_mount(const std::string& target, const std::vector<MountedFileSystem>& mounts,
                                 const NodeReader& node);
Result<MountState> look_at_mount(const std::string& target, const NodeReader& node);

/// The value of the resource, and of the artifact that carries it out.
Observation observation_of(const MountState& mount, bool live);

}  // namespace sparkplan::mount
