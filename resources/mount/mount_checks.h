#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/resource/resource_type.h"
#include "resources/mount/mount_unit.h"

/// What stands against a mount or against taking it away. All of it is looked at, nothing changed.
namespace sparkplan::mount {

enum class Patience { kNone, kWaits };

/// The device is there and holds the file system that is to be mounted. One that a connection has only just
/// brought may be waited for.
/// Errors: kNotFound without the device, kRefused for another file system or none: nothing is ever formatted.
Result<void> check_device(const MountUnit& unit, Patience patience, const NodeReader& node);

/// Who keeps `target` from being unmounted: processes with files or directories there, units of others that go down
/// with it, and mounts below it, but for those in `going`. Nothing when nobody does.
std::optional<Error> in_use(const std::string& target, const std::vector<std::string>& going, const NodeReader& node);

/// systemd stops what requires a mount together with it: units that are up and that sparkplan does not mount or connect
/// itself. Nothing when there are none.
std::optional<Error> needed_by_units(const std::string& target, const NodeReader& node);

/// Files that would be hidden by a mount at `target`.
std::optional<Error> target_has_files(const std::string& target, const NodeReader& node);

/// Files that are lost with a tmpfs that is mounted at `target`; never for what else is there. Empty directories are no
/// loss.
std::optional<Error> files_in_memory(const std::string& target, const NodeReader& node);

/// Something else is mounted at the target.
Error occupied(const std::string& target, const std::string& state);

/// Before the first write of a run. See ResourceType::prepare().
std::vector<Objection> objections_to(std::span<const Step> steps, const NodeReader& node);

}  // namespace sparkplan::mount
