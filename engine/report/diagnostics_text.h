#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"

namespace sparkplan {

/// Pure. All findings for people, in their order: at most 50 errors and 50 others, and then how many more there are.
/// A file of a megabyte can have a hundred thousand. `source` is the text they are about, empty when it is not at
/// hand. With `errors_only` nothing else is rendered or counted.
std::string diagnostics_text(const std::vector<Diagnostic>& diagnostics, std::string_view source, bool errors_only);

}  // namespace sparkplan
