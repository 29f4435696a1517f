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

/// Who keeps `target` from being unmounted: processes with files or directories there, and mounts below it, but
/// for those in `going`. Nothing when nobody does.
std::optional<Error> in_use(const std::string& target, const std::vector<std::string>& going, const NodeReader& node);

/// Something else is mounted at the target.
Error occupied(const std::string& target, const std::string& state);

/// Before the first write of a run. See ResourceType::prepare().
std::vector<Objection> objections_to(std::span<const Step> steps, const NodeReader& node);

}  // namespace sparkplan::mount
