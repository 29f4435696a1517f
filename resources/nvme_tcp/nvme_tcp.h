#pragma once

#include <memory>
#include <string>

#include "engine/resource/resource_type.h"

/// Connections to NVMe subsystems over TCP, as the volumes of `storage` need them.
namespace sparkplan::nvme_tcp {

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::nvme_tcp
