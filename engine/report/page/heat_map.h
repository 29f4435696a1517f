#pragma once

#include <vector>

#include "engine/markup/markup.h"
#include "engine/report/checks/matrix.h"
#include "engine/report/page/page.h"

namespace sparkplan {

/// Adds a section with one table per matrix, if there are any: each cell with its number and a shade. Slow senders and
/// receivers are marked.
void add_heat_maps(Page& page, const std::vector<Check>& checks);

/// Adds a section with NCCL's bandwidth over size, if a check has a series: a chart and its table for each group.
void add_size_charts(Page& page, const std::vector<Check>& checks);

}  // namespace sparkplan
