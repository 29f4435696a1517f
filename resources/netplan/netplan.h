#pragma once

#include <memory>
#include <string>

#include "engine/resource/resource_type.h"

/// The fabric's interfaces through one netplan file, and as the kernel has them: `fabric: {...}`.
namespace sparkplan::netplan {

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::netplan
