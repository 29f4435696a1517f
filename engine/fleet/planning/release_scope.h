#pragma once

#include <set>
#include <string_view>

#include "engine/model/manifest.h"
#include "engine/model/resource.h"
#include "engine/resource/resource_type.h"

namespace sparkplan {

/// Pure. The resources about which the two disagree.
std::set<ResourceId> differing(const Desired& before, const Desired& after);

/// Pure. The resources that were last applied with a field of that node, as "authorized.NODE". The file may no
/// longer ask for the field, and a released node must not keep its access.
std::set<ResourceId> with_field_of(std::string_view node, const Manifest& manifest);

}  // namespace sparkplan
