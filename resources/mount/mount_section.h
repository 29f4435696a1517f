#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"
#include "engine/resource/resource_type.h"

namespace sparkplan::mount {

/// Pure. The section `storage` with these mounts (target -> the last applied value): the inverse of render_unit().
/// Nothing if a unit is not one that a section renders.
std::optional<Value> section_of(const ValuesByName& applied);

/// Pure. Reports sources, targets and options in the section that a mount unit cannot have.
std::vector<Diagnostic> validate_section(const Value& section);

}  // namespace sparkplan::mount
