#pragma once

#include <string>
#include <vector>

#include "engine/report/page/page.h"
#include "engine/verify/measured_history.h"

namespace sparkplan {

/// Adds a section with what the nodes keep of this and earlier runs: the run compared with the one before it, then the
/// course of each check, slower ones first, with what happened at that time. Nothing without nodes. `run`: the id of
/// the run that makes the page.
void add_history(Page& page, const std::vector<NodeMeasurements>& nodes, const std::vector<CheckHistory>& checks,
                 const std::string& run);

}  // namespace sparkplan
