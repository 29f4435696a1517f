#pragma once

#include <memory>
#include <string>

#include "engine/resource/resource_type.h"

/// Whole text files: `files: [{path: /etc/motd, content: "Two Sparks\n"}]`.
namespace sparkplan::file {

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::file
