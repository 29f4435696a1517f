#pragma once

#include <string>
#include <vector>

#include "engine/verify/check.h"

namespace sparkplan {

/// Measurements between pairs of nodes, one table per level, kind of check and unit: rows send, columns receive; a
/// measurement without a direction is in both of its places. Empty when nothing was.
/// Values that failed carry an "!", those that are a warning a "~", and "x" is one that gave no value.
std::string matrices(const std::vector<Check>& checks);

}  // namespace sparkplan
