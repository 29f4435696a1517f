#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/model/resource.h"
#include "resources/systemd_unit/unit_state.h"

/// A unit as the tree that plans, manifests and journals hold. Everything in this header is pure.
namespace sparkplan::systemd_unit {

/// Keys of the tree; the first four are those of cluster.yaml.
namespace field {
inline constexpr std::string_view kContent = "content";
inline constexpr std::string_view kDropIn = "drop_in";
inline constexpr std::string_view kEnabled = "enabled";
inline constexpr std::string_view kState = "state";
/// There only when something is left to do, and never asked for.
inline constexpr std::string_view kAttributes = "attributes";
inline constexpr std::string_view kContentAttributes = "content_attributes";  ///< Of a foreign unit file.
inline constexpr std::string_view kReload = "reload";
inline constexpr std::string_view kRestart = "restart";
}  // namespace field

/// The unit as a resource: all that is seen. Absent when there is no such unit and nothing of ours.
Observation resource_of(const UnitState& unit, bool live);

/// The unit as an artifact: what is written and put back. Its state is up or not, "started" or
/// "stopped", because the finer ones come and go by themselves. Without
/// files of ours, disabled and stopped it is Absent, whether there is such a unit or not.
Observation artifact_of(const UnitState& unit);

/// The artifact with these fields.
Observation settled(Value artifact);

/// What an artifact has to become.
struct WantedUnit {
  std::optional<std::string> content;
  std::optional<std::string> drop_in;
  std::string attributes;          ///< Of our files; empty: the usual ones.
  std::string content_attributes;  ///< Of `content` where it is foreign; empty: the usual ones.
  std::optional<bool> enabled;     ///< Nothing: it is not known, as in an image.
  std::optional<bool> up;
  bool restart_pending = false;
};

/// Errors: kBug for what artifact_of() does not make.
Result<WantedUnit> wanted_from(const Observation& artifact);

}  // namespace sparkplan::systemd_unit
