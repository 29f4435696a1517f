#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/resource/resource_type.h"

/// Debian packages that are installed: `packages: [nvme-cli, perftest]`.
namespace sparkplan::package {

/// Source: dpkg(1), FILES.
inline constexpr std::string_view kStatusFile = "/var/lib/dpkg/status";

/// Which packages apt has brought along for others. Source: apt-mark(8), FILES.
inline constexpr std::string_view kExtendedStates = "/var/lib/apt/extended_states";

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::package
