#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "engine/resource/resource_type.h"

/// From resources to what has to be done about their units. Everything in this header is pure.
namespace sparkplan::systemd_unit {

ArtifactId unit_artifact(std::string_view name);

/// Reasons why a unit cannot become what is asked for, which only matter to some wishes. observe()
/// reports each that holds as an artifact that cannot be read, and a step that names it blocks its
/// resource with that error. Kinds of artifacts:
namespace obstacle {
inline constexpr std::string_view kForeignFile = "foreign_unit_file";  ///< For content we have never written.
inline constexpr std::string_view kHiddenFile = "hidden_unit_file";    ///< For any content.
inline constexpr std::string_view kNoUnit = "missing_unit";            ///< For everything but content.
inline constexpr std::string_view kStatic = "static_unit";             ///< For enabled: true without content.
}  // namespace obstacle

/// What a node may say of units, of artifacts of the kind "unit" and of obstacles, which are errors and nothing else.
ReportedShapes reported_units();

/// As ResourceType::diff(): finer states that amount to the wanted one are no difference, and what is
/// left to do, or left over from what the file no longer asks for, is.
std::vector<FieldChange> complete_diff(const Resource& resource, const Present& present,
                                       std::vector<FieldChange> compared);

/// As ResourceType::steps(): one step per changed unit, each a group of its own, in an order in which
/// units that are started find those that they depend on.
std::vector<Step> unit_steps(const StepsInput& input, const TypeInfo& info);

}  // namespace sparkplan::systemd_unit
