#include "resources/mount/mount_state.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "engine/core/text.h"
#include "engine/domain/storage/storage.h"
#include "resources/mount/device_names.h"

namespace sparkplan::mount {
namespace {

constexpr std::chrono::seconds kStateDeadline{10};

/// Mount options that the kernel shows in the form in which they were given. Source: mount(8), proc(5).
constexpr std::array<std::string_view, 6> kShownOptions{"nosuid", "nodev", "noexec", "noatime", "nodiratime", "sync"};

/// The name of an unread journal in namespace state, for all spellings of the mount option.
constexpr const char* kNoRecovery = "norecovery";

Result<bool> is_device(const MountedFileSystem& mounted, const std::string& what, const NodeReader& node) {
  constexpr std::string_view kDevices = "/dev/";
  if (mounted.source == what) return true;
  SPARK_TRY(const auto record, udev_record(mounted, node));
  if (record) {
    const auto lines = split_lines(*record);
    const std::string link = "S:" + what.substr(kDevices.size());
    return std::ranges::find(lines, link) != lines.end();
  }
  // Without udev, only following the link identifies the device.
  const std::vector<std::string> argv{"readlink", "-e", "--", what};
  SPARK_TRY(const CommandOutput output, node.query(argv, kStateDeadline));
  return trim(output.standard_output) == mounted.source;
}

/// Reads only the kernel's mount table, so it waits for no server. True if `what` lies in a mount of the same file
/// system, at the directory that is mounted here. False if a symbolic link leads to it.
Result<bool> is_bound_by_table(const MountedFileSystem& mounted, const std::string& what, const NodeReader& node) {
  SPARK_TRY(const auto mounts, mounted_file_systems(node));
  const MountedFileSystem* around = mount_around(mounts, what);
  if (around == nullptr || around->device != mounted.device) return false;
  std::string directory = around->root == "/" ? "" : around->root;
  directory += around->target == "/" ? what : what.substr(around->target.size());
  return mounted.root == (directory.empty() ? "/" : directory);
}

/// Equal directories have the same inode of the same file system.
Result<bool> is_bound(const MountedFileSystem& mounted, const std::string& what, const NodeReader& node) {
  SPARK_TRY(const bool by_table, is_bound_by_table(mounted, what, node));
  if (by_table) return true;
  SPARK_TRY(const auto source, if_there(node.status(what)));
  if (!source) return false;
  SPARK_TRY(const FileStatus target, node.status(mounted.target));
  return source->device == target.device && source->inode == target.inode;
}

Result<bool> same_source(const MountedFileSystem& mounted, const MountUnit& unit, const NodeReader& node) {
  if (unit.type == "none") return is_bound(mounted, unit.what, node);
  if (mounted.type != unit.type) return false;
  if (unit.type == "tmpfs") return true;
  if (unit.what.starts_with("/dev/")) return is_device(mounted, unit.what, node);
  return mounted.source == unit.what;
}

/// The kernel shows "size=8589934592" as "size=8388608k".
std::int64_t kibibytes(std::string_view size) {
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), number);
  if (error != std::errc()) return 0;
  return end != size.data() + size.size() && *end == 'k' ? number : number / 1024;
}

std::optional<std::string> other_size(const MountedFileSystem& mounted, const MountUnit& unit) {
  const auto size_in = [](const std::vector<std::string>& options) -> std::string {
    for (const std::string& option : options) {
      if (option.starts_with("size=")) return option.substr(5);
    }
    return {};
  };
  const std::string wanted = size_in(unit.options);
  const std::string shown = size_in(mounted.super_options);
  if (unit.type != "tmpfs" || wanted.empty() || kibibytes(wanted) == kibibytes(shown)) return std::nullopt;
  return std::string(state::kWith) + "size=" + shown;
}

}  // namespace

bool is_without_journal(const MountedFileSystem& mounted) {
  return std::ranges::any_of(mounted.super_options, [](const std::string& option) {
    return option == "norecovery" || option == "noload" || option == "nologreplay" ||
           (option.starts_with("rescue=") &&
            (option.find("nologreplay") != std::string::npos || option.find("all") != std::string::npos));
  });
}

bool can_be_remounted(const MountedFileSystem& mounted, const MountUnit& unit) {
  return unit.type == "none" || unit.read_only() || !is_without_journal(mounted);
}

Result<std::string> compare_mounted(const MountedFileSystem& mounted, const MountUnit& unit, const NodeReader& node) {
  SPARK_TRY(const bool same, same_source(mounted, unit, node));
  const std::string other = std::string(state::kFrom) + mounted.source + " (" + mounted.type + ")";
  if (!same) return other;
  if (!unit.server) {
    SPARK_TRY(const auto contest, contest_for(unit.what, &mounted, node));
    if (contest) return other + ", " + contest->origin + ", which has its name in common with " + contest->other;
  }
  // A bind mount is never less strict than its source.
  const bool bound = unit.type == "none";
  const auto& own = mounted.options;
  const bool reads_only = bound ? std::ranges::find(own, "ro") != own.end() : mounted.read_only();
  if (unit.read_only() != reads_only && (!bound || unit.read_only())) {
    return std::string(state::kWith) + (reads_only ? "ro" : "rw");
  }
  if (!can_be_remounted(mounted, unit)) return std::string(state::kWith) + kNoRecovery;
  for (const std::string_view option : kShownOptions) {
    if (unit.has_option(option) && !mounted.has_option(option))
      return std::string(state::kWithout) + std::string(option);
  }
  return other_size(mounted, unit).value_or(state::kMounted);
}

Result<MountState> look_at_mount(const std::string& target, const std::vector<MountedFileSystem>& mounts,
                                 const NodeReader& node) {
  MountState mount;
  const std::string name = unit_name(target);
  // The link is in one of these two targets, whatever the unit's text names now.
  SPARK_TRY(mount.unit, read_unit(name, "remote-fs.target", node));
  if (!mount.unit.enabled) {
    SPARK_TRY(const UnitFile local, read_unit(name, "local-fs.target", node));
    mount.unit.enabled = local.enabled;
  }
  if (!node.live()) return mount;
  const MountedFileSystem* mounted = mounted_at(mounts, target);
  mount.state = mounted == nullptr ? state::kNotMounted : state::kMounted;
  if (mounted != nullptr && mount.unit.ours()) {
    SPARK_TRY(mount.state, compare_mounted(*mounted, parse_unit(*mount.unit.content), node));
  } else if (mounted != nullptr) {
    mount.state = std::string(state::kFrom) + mounted->source + " (" + mounted->type + ")";
  }
  return mount;
}

Result<MountState> look_at_mount(const std::string& target, const NodeReader& node) {
  std::vector<MountedFileSystem> mounts;
  if (node.live()) {
    SPARK_TRY(mounts, mounted_file_systems(node));
  }
  return look_at_mount(target, mounts, node);
}

Observation observation_of(const MountState& mount, bool live) {
  return unit_observation(mount.unit, mount.state, mount.mounted(), live);
}

}  // namespace sparkplan::mount
