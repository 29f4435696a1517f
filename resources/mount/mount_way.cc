#include "resources/mount/mount_way.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "engine/core/text.h"
#include "engine/resource/accounts.h"
#include "engine/resource/directory_writers.h"
#include "engine/resource/systemd_units.h"
#include "resources/mount/device_names.h"
#include "resources/mount/mount_state.h"
#include "resources/mount/mount_steps.h"

namespace sparkplan::mount {
namespace {

/// The user whose login started the run can become root anyway.
TrustedUser trusted_login(const NodeReader& node) {
  const std::uint32_t uid = node.login_user();
  if (uid == 0) return {};
  return {uid, own_group_of(uid, node)};
}

std::string user_text(std::uint32_t uid, const NodeReader& node) {
  const std::string name = user_name(uid, node);
  return "user ID " + std::to_string(uid) + (name.empty() ? "" : " (" + printable(name) + ")");
}

/// `entry`: the next part of the way, in `directory`.
WeakPlace weak_place(const std::string& directory, const std::string& entry, const DirectoryWriter& writer,
                     const NodeReader& node) {
  const std::string who = ", who could replace " + entry + " with a symbolic link";
  switch (writer.kind) {
    case DirectoryWriter::Kind::kOwner:
      return {directory + " belongs to " + user_text(writer.id, node) + who, "chown root " + directory};
    case DirectoryWriter::Kind::kAllUsers:
      return {directory + " is writable by all users" + who, "chmod o-w " + directory};
    case DirectoryWriter::Kind::kGroup:
      return {directory + " is writable by the members of group ID " + std::to_string(writer.id) + who,
              "chmod g-w " + directory};
    case DirectoryWriter::Kind::kAcl:
      break;
  }
  return {directory + " has an ACL and is writable by " + writer.named + who, "setfacl -b " + directory};
}

Error refused_way(const WeakPlace& place) {
  return make_error(ErrorCode::kRefused, place.danger, place.remedy + ", or mount at another directory");
}

/// True if the path is in a mount of a server, or of a user's program.
bool is_of_server(const std::string& path, const std::vector<MountedFileSystem>& mounts) {
  static constexpr std::array<std::string_view, 4> kLocal{"tmpfs", "overlay", "zfs", "ramfs"};
  return std::ranges::any_of(mounts, [&](const MountedFileSystem& mount) {
    return mount.target != "/" && is_within(path, mount.target) && !mount.source.starts_with("/dev/") &&
           std::ranges::find(kLocal, mount.type) == kLocal.end();
  });
}

bool is_same_mount(const MountedFileSystem& one, const MountedFileSystem& other) {
  return one.device == other.device && one.root == other.root && one.target == other.target && one.type == other.type &&
         one.source == other.source;
}

/// True for a mount that someone else makes, though it looks like one of our unit: an automounter, or a user with FUSE
/// on the source of a bind. If a link led our mount there, it would hide no other file.
bool is_of_another(const MountedFileSystem& mount, const MountUnit& unit, const std::vector<MountedFileSystem>& now) {
  if (unit.type == "none" && mount.target == unit.what) return true;
  const MountedFileSystem* around = nullptr;
  for (const MountedFileSystem& other : now) {
    if (&other == &mount || !is_within(mount.target, other.target)) continue;
    if (around == nullptr || other.target.size() >= around->target.size()) around = &other;
  }
  return around != nullptr && around->type == "autofs";
}

/// True for a mount that our unit makes. A tmpfs is known by its size and options alone.
Result<bool> is_of_unit(const MountedFileSystem& mount, const MountUnit& unit, const NodeReader& node) {
  if (unit.what.starts_with("/dev/") && mount.source != unit.what) {
    // Without udev, compare_mounted() would run a program.
    SPARK_TRY(const auto record, udev_record(mount, node));
    if (!record) return false;
  }
  SPARK_TRY(const std::string how, compare_mounted(mount, unit, node));
  if (unit.type == "tmpfs" ? how != state::kMounted : how.starts_with(state::kFrom)) return false;
  SPARK_TRY(const bool of_another_unit, node.is_there(system_unit_path(unit_name(mount.target))));
  return !of_another_unit;
}

}  // namespace

Result<Way> look_at_way(const std::string& path, const NodeReader& node) {
  const TrustedUser trusted = trusted_login(node);
  const std::vector<std::string> parts = directories_of(path);
  std::optional<FileStatus> above;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    SPARK_TRY(const auto status, if_there(node.status(parts[i])));
    const bool in_shared = above && maker_in(*above, trusted);
    if (!status) return Way{std::nullopt, in_shared};
    if (in_shared && status->uid != 0 && status->uid != trusted.uid) {
      return Way{weak_place(parts[i], parts[i], {DirectoryWriter::Kind::kOwner, status->uid}, node)};
    }
    if (status->kind != FileStatus::Kind::kDirectory || i + 1 == parts.size()) break;
    if (const auto writer = writer_of(*status, trusted)) {
      return Way{weak_place(parts[i], parts[i + 1], *writer, node)};
    }
    above = status;
  }
  return Way{};
}

std::optional<Error> objection_to_way(const std::string& target, const NodeReader& node) {
  const auto way = look_at_way(target, node);
  if (!way) return way.error();
  return way->weak ? std::optional(refused_way(*way->weak)) : std::nullopt;
}

Result<void> make_way(const std::string& target, Node& node) {
  SPARK_TRY(Way way, look_at_way(target, node));
  if (way.is_open) {
    for (const std::string& directory : directories_of(target)) {
      SPARK_TRY(const bool there, node.is_there(directory));
      if (!there) SPARK_CHECK(node.make_empty_directory(directory));
    }
    SPARK_TRY(way, look_at_way(target, node));
  }
  return way.weak ? failure(refused_way(*way.weak)) : Result<void>();
}

std::vector<Ineffective> foresee_ways(const ValuesByName& wanted, const NodeReader& node) {
  std::vector<Ineffective> found;
  const auto mounts = mounted_file_systems(node);
  if (!mounts) return found;  // Apply reports it.
  for (const auto& [target, value] : wanted) {
    const bool nested = std::ranges::any_of(wanted, [&, &inner = target](const auto& other) {
      return other.first != inner && is_within(inner, other.first);
    });
    if (!nested && mounted_at(*mounts, target) == nullptr) {
      if (auto refusal = objection_to_way(target, node)) {
        found.push_back(
            {target, "mount.weak-target", "apply will refuse this mount: " + refusal->message, refusal->hint});
      }
    }
    const MountUnit unit = parse_unit(value.text_or(field::kContent, ""));
    if (unit.type != "none" || is_of_server(unit.what, *mounts)) continue;
    const auto way = look_at_way(unit.what, node);
    if (!way || !way->weak) continue;
    found.push_back({target, "mount.weak-source",
                     way->weak->danger + ": the bind would show another directory from the next boot on",
                     way->weak->remedy + ", or bind another directory"});
  }
  return found;
}

Result<void> detach_strays(const MountUnit& unit, const std::string& target,
                           const std::vector<MountedFileSystem>& before, Node& node) {
  SPARK_TRY(const auto now, mounted_file_systems(node));
  if (mounted_at(now, target) != nullptr) return {};
  std::vector<std::string> found;
  std::vector<std::string> failures;
  for (const MountedFileSystem& mount : now) {
    const bool is_old = std::ranges::any_of(before, [&](const auto& old) { return is_same_mount(mount, old); });
    if (is_old || is_of_another(mount, unit, now)) continue;
    SPARK_TRY(const bool ours, is_of_unit(mount, unit, node));
    if (!ours) continue;
    found.push_back(mount.target);
    if (const auto detached = node.detach_mount(mount.target); !detached) {
      failures.push_back(detached.error().describe());
    }
  }
  if (found.empty()) return {};
  return failure(
      ErrorCode::kVerifyFailed,
      "a symbolic link led the mount of " + target + " to " + join(found, ", ") +
          (failures.empty() ? ", where it is unmounted again" : ", and it is still there: " + join(failures, "; ")),
      "`namei -l " + target + "` shows the directories above it and their owners");
}

}  // namespace sparkplan::mount
