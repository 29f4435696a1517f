#pragma once

#include <string>

#include "engine/model/container_image.h"

namespace sparkplan::copy {

/// The name of an image in its parts.
struct NameParts {
  std::string registry;  ///< Empty: not named.
  std::string rest;      ///< With its tag.
};

/// Pure. The name with the tag that the engines add. docker would save every image of a name without a tag.
std::string with_tag(const std::string& name);

/// Pure. Source: splitDockerDomain() of distribution/reference.
NameParts image_name_parts(const std::string& name);

/// Pure. Whether the engine can have taken the one name for the other: docker reads "a" as
/// "docker.io/library/a:latest", and podman finds a name without a registry in several ones.
bool is_same_name(ContainerEngine engine, const std::string& declared, const std::string& found);

}  // namespace sparkplan::copy
