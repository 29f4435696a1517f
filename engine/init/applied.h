#pragma once

#include <map>
#include <string>

#include "engine/model/manifest.h"

namespace sparkplan {

/// The values that were last applied for one type, by resource name.
std::map<std::string, Value> applied_of(const Manifest& manifest, const std::string& type);

}  // namespace sparkplan
