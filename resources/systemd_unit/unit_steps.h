#pragma once

#include <string_view>
#include <vector>

#include "engine/model/plan.h"
#include "engine/model/resource.h"
#include "engine/resource/resource_type.h"

/// Turns resources into steps for their units. Everything in this header is pure.
namespace sparkplan::systemd_unit {

/// The unit's state, and not its files.
ArtifactId unit_artifact(std::string_view name);

/// Reasons why a unit cannot become as desired. Each affects only some fields. observe() reports each reason as an
/// artifact that cannot be read. A step that names this artifact blocks its resource with that error. Kinds of
/// artifacts:
namespace obstacle {
inline constexpr std::string_view kForeignFile = "foreign_unit_file";  ///< Blocks content: the file is foreign.
inline constexpr std::string_view kHiddenFile = "hidden_unit_file";    ///< Blocks content.
inline constexpr std::string_view kNoUnit = "missing_unit";            ///< Blocks resources without content.
inline constexpr std::string_view kStatic = "static_unit";             ///< Blocks enabled: true without content.
}  // namespace obstacle

/// The values that a node may report for units, artifacts of the kind "unit" and obstacles, which are only errors.
ReportedShapes reported_units();

/// As ResourceType::diff(), with two additions. States equal to the desired one in effect are no difference. Pending
/// restarts and reloads, wrong attributes, and our files that the section no longer has are differences.
std::vector<FieldChange> complete_diff(const Resource& resource, const Present& present,
                                       std::vector<FieldChange> compared);

/// As ResourceType::steps(): one step per changed unit, each in its own group. A unit starts after the units that it
/// depends on.
std::vector<Step> unit_steps(const StepsInput& input, const TypeInfo& info);

}  // namespace sparkplan::systemd_unit
