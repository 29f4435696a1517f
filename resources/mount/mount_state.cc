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

constexpr std::chrono::seconds kQueryDeadline{10};

/// Options that the kernel shows of a mount as they were given. Source: mount(8), proc(5).
constexpr std::array<std::string_view, 6> kShownOptions{"nosuid", "nodev", "noexec", "noatime", "nodiratime", "sync"};

/// How the kernel shows that a journal was not looked at, whatever it was asked with.
constexpr const char* kNoRecovery = "norecovery";

Result<bool> is_device(const MountedFileSystem& mounted, const std::string& what, const NodeReader& node) {
  constexpr std::string_view kDev = "/dev/";
  if (mounted.source == what) return true;
  SPARK_TRY(const auto record, udev_record(mounted, node));
  if (record) {
    const auto lines = split_lines(*record);
    const std::string link = "S:" + what.substr(kDev.size());
    return std::find(lines.begin(), lines.end(), link) != lines.end();
  }
  // A machine without udev: only following the link tells.
  const std::vector<std::string> argv{"readlink", "-e", "--", what};
  SPARK_TRY(const CommandOutput output, node.query(argv, kQueryDeadline));
  return trim(output.standard_output) == mounted.source;
}

/// By the kernel's table alone, which asks no server: `what` lies in a mount of the same file system, at the directory
/// that is mounted here. Not so where a symbolic link leads to it.
Result<bool> is_bound_by_table(const MountedFileSystem& mounted, const std::string& what, const NodeReader& node) {
  SPARK_TRY(const auto mounts, mounted_file_systems(node));
  const MountedFileSystem* around = nullptr;
  for (const MountedFileSystem& one : mounts) {
    const bool contains = one.target == "/" || is_within(what, one.target);
    // Of two at one target the later one is seen.
    if (contains && (around == nullptr || one.target.size() >= around->target.size())) around = &one;
  }
  if (around == nullptr || around->device != mounted.device) return false;
  std::string directory = around->root == "/" ? "" : around->root;
  directory += around->target == "/" ? what : what.substr(around->target.size());
  return mounted.root == (directory.empty() ? "/" : directory);
}

/// The same directory is the same inode of the same file system.
Result<bool> is_bound(const MountedFileSystem& mounted, const std::string& what, const NodeReader& node) {
  SPARK_TRY(const bool by_table, is_bound_by_table(mounted, what, node));
  if (by_table) return true;
  const auto source = node.status(what);
  if (!source && source.error().code == ErrorCode::kNotFound) return false;
  if (!source) return failure(source.error());
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

/// "size=8589934592" is shown as "size=8388608k".
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
  return std::any_of(mounted.super_options.begin(), mounted.super_options.end(), [](const std::string& option) {
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
  if (!same) return std::string(state::kFrom) + mounted.source + " (" + mounted.type + ")";
  // What is bound is never less strict than what it is bound from.
  const bool bound = unit.type == "none";
  const auto& own = mounted.options;
  const bool reads_only = bound ? std::find(own.begin(), own.end(), "ro") != own.end() : mounted.read_only();
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
  // The link is in one of the two, whatever the text says by now.
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
  Present present{Value::map(), {}};
  if (mount.unit.content) present.value.set(field::kContent, *mount.unit.content);
  if (!live) {
    if (!mount.unit.content) return Absent{};
    for (const char* key : {field::kEnabled, field::kState}) present.not_applicable[key] = "nothing is running there";
    return present;
  }
  if (!mount.unit.content && !mount.unit.enabled && !mount.mounted()) return Absent{};
  present.value.set(field::kEnabled, mount.unit.enabled);
  present.value.set(field::kState, mount.state);
  return present;
}

}  // namespace sparkplan::mount
