#pragma once

#include <map>
#include <optional>
#include <string>

#include "engine/core/value.h"

namespace sparkplan::mount {

/// Pure. The section `storage` that asks for these mounts (target to the value that was last applied): the inverse of
/// render_unit(). Nothing where a unit is none that a section makes.
std::optional<Value> section_of(const std::map<std::string, Value>& applied);

}  // namespace sparkplan::mount
