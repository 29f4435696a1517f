#pragma once

#include <memory>
#include <string>

#include "engine/resource/resource_type.h"

/// Mounts, each a systemd unit: `storage: [{target: /mnt/models, source: {...}, type: ext4}]`.
namespace sparkplan::mount {

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::mount
