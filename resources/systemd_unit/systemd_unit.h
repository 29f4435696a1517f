#pragma once

#include <memory>
#include <string>

#include "engine/resource/resource_type.h"

/// systemd units: `units: [{name, content or drop_in, enabled, state}]`.
namespace sparkplan::systemd_unit {

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::systemd_unit
