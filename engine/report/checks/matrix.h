#pragma once

#include <string>
#include <vector>

#include "engine/verify/check.h"

namespace sparkplan {

/// Measurements between pairs of nodes, with one table per level, kind of check and unit. Rows send, columns receive. A
/// measurement without a direction is in both of its cells. Empty without measurements.
/// Failed values are marked "!", warnings "~"; "x" is a measurement without a value.
std::string matrices(const std::vector<Check>& checks);

}  // namespace sparkplan
