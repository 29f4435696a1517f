#pragma once

#include <string_view>
#include <vector>

#include "engine/resource/resource_type.h"

namespace sparkplan::mount {

/// The artifact of a mount with its unit.
ArtifactId mount_artifact(std::string_view target);
/// The artifact of a directory that a mount needs. A directory that sparkplan made is removed when it is empty.
ArtifactId directory_artifact(std::string_view path);

/// "/srv", "/srv/a" for "/srv/a": all directories of a path except the root.
std::vector<std::string> directories_of(std::string_view target);

/// Pure. See ResourceType::steps().
std::vector<Step> mount_steps(const StepsInput& input, const TypeInfo& info);

}  // namespace sparkplan::mount
