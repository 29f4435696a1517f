#pragma once

#include <set>

#include "engine/model/resource.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {

/// Pure. The resources about which the two disagree.
std::set<ResourceId> differing(const Desired& before, const Desired& after);

}  // namespace sparkplan
