#pragma once

#include <string>

#include "engine/resource/resource_type.h"

/// Things that the changes of a plan may bring to a node that lacks them. Everything here is pure.
namespace sparkplan {

/// A managed file at that path, any package, or a mount above the path: the content of packages and volumes is not
/// known before they are there.
bool may_bring_file(const ChangesAhead& ahead, const std::string& path);

/// A package whose name is one of packages with kernel modules: linux-modules-extra-6.17.0-1031-nvidia,
/// v4l2loopback-dkms.
bool may_bring_modules(const ChangesAhead& ahead);

}  // namespace sparkplan
