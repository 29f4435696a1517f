#pragma once

#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/core/value.h"

namespace sparkplan::sysctl {

/// Pure. Names outside their grammar, values no file of ours can hold, two spellings of one key,
/// and pairs of keys of which the kernel honours only the one set last.
std::vector<Diagnostic> validate_section(const Value& section);

}  // namespace sparkplan::sysctl
