#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/resource.h"
#include "resources/systemd_unit/unit_state.h"

/// A unit as a value in plans, manifests and journals. Everything in this header is pure.
namespace sparkplan::systemd_unit {

/// Keys of the value; the first four are those of cluster.yaml.
namespace field {
inline constexpr std::string_view kContent = "content";
inline constexpr std::string_view kDropIn = "drop_in";
inline constexpr std::string_view kEnabled = "enabled";
inline constexpr std::string_view kState = "state";
/// Only present while something is left to do; never desired.
inline constexpr std::string_view kAttributes = "attributes";
inline constexpr std::string_view kContentAttributes = "content_attributes";  ///< Of a foreign unit file.
inline constexpr std::string_view kReload = "reload";
inline constexpr std::string_view kRestart = "restart";
}  // namespace field

/// The unit as a resource, with everything observed. Absent on a running machine without the unit and our drop-in.
Observation resource_of(const UnitState& unit, bool live);

/// The unit as an artifact: the value that is written and restored. Its state is only "started" or "stopped", because
/// finer states change without sparkplan. A disabled and stopped unit is Absent, even if it exists, unless it has a
/// file in /etc/systemd/system, our drop-in or a pending restart.
Observation artifact_of(const UnitState& unit);

/// The artifact with these fields; Absent as in artifact_of().
Observation settled(Value artifact);

/// The desired state of an artifact.
struct WantedUnit {
  std::optional<std::string> content;
  std::optional<std::string> drop_in;
  std::string attributes;          ///< Of our files; empty: kAttributes.
  std::string content_attributes;  ///< Of a foreign `content`; empty: kAttributes.
  std::optional<bool> enabled;     ///< Nothing: unknown, as in an image.
  std::optional<bool> up;
  bool restart_pending = false;
};

/// Errors: kBug for a value that artifact_of() does not produce.
Result<WantedUnit> wanted_from(const Observation& artifact);

}  // namespace sparkplan::systemd_unit
