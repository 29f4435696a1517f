#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "engine/core/diagnostic.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {

/// Pure. The findings for people, in their order: at most 50 errors and 50 others, of one node at most 10 and 10, and
/// then the numbers of the rest. A file of a megabyte can have a hundred thousand findings, and a node can invent them.
/// A finding that several nodes share is there once, with their names. Long lines are wrapped, but not the lines of the
/// file. `source` is the text of the file; empty if it is not available. With `style.quiet`, only errors are rendered
/// and counted.
std::string diagnostics_text(const std::vector<Diagnostic>& diagnostics, std::string_view source,
                             const TextStyle& style);

}  // namespace sparkplan
