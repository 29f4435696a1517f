#pragma once

#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"

namespace sparkplan::mount {

/// Pure. What is wrong in the section alone: sources, targets and options that a mount unit cannot have.
std::vector<Diagnostic> validate_section(const Value& section);

}  // namespace sparkplan::mount
