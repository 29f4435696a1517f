#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"
#include "resources/mount/mount_unit.h"

/// The reasons against a mount or an unmount. All checks are read-only.
namespace sparkplan::mount {

enum class Patience { kNone, kWaits };

/// Success if the device exists, holds the unit's file system, and no other device has its name, as check_name(). With
/// kWaits, it waits up to ten seconds for a device of a new connection.
/// Errors: kNotFound without the device; kRefused for another file system or none, because sparkplan never formats;
/// kFailed if blkid cannot read it; as check_name().
Result<void> check_device(const MountUnit& unit, Patience patience, const NodeReader& node);

/// Success unless the unit's source is a label, a UUID or another of udev's names for disks, and a volume of an NVMe
/// server has it beside another device: such a server chooses the names of its volumes. A source `nvme_tcp` has the
/// name that sparkplan's own rule gives.
/// Errors: kRefused, naming both devices and the server; as contest_for().
Result<void> check_name(const MountUnit& unit, const NodeReader& node);

/// The users that prevent an unmount of `target`: processes with files or directories there, foreign units that stop
/// with it, and mounts below it that are not in `going`. Nothing without users.
std::optional<Error> in_use(const std::string& target, const std::vector<std::string>& going, const NodeReader& node);

/// The processes that have mapped a file there, and perhaps closed it since. in_use() does not search for them, because
/// a user can hold up that search: it ends after five seconds. Nothing without such processes, or without an answer.
/// Source: proc_map_files_readdir() in the kernel's fs/proc/base.c.
std::optional<Error> mapped_by_processes(const std::string& target, const NodeReader& node);

/// The active units that systemd would stop together with the mount, except units that sparkplan manages for storage.
/// Nothing without such units.
std::optional<Error> needed_by_units(const std::string& target, const NodeReader& node);

/// Files that a mount at `target` would hide.
std::optional<Error> target_has_files(const std::string& target, const NodeReader& node);

/// Files that are lost with a tmpfs at `target`; nothing for other file systems. Empty directories are no loss, but
/// more than ten thousand directories are refused: a search of them would take the agent too long.
std::optional<Error> files_in_memory(const std::string& target, const NodeReader& node);

/// The error for another mount at the target.
Error occupied(const std::string& target, const std::string& state);

/// Runs before the first write of a run. See ResourceType::prepare().
std::vector<Objection> objections_to(std::span<const Step> steps, const NodeReader& node);

}  // namespace sparkplan::mount
