#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace sparkplan::test {

/// Violations of the source tree's layers in one file: one line per offending #include. `path` is relative to the root
/// of the sources: "engine/plan/planner.cc".
std::vector<std::string> layering_violations(std::string_view path, std::string_view text);

/// The layers of engine/ that a layer may include: itself, and all layers that it reaches directly or through others.
std::vector<std::string> layers_below(std::string_view layer);

}  // namespace sparkplan::test
