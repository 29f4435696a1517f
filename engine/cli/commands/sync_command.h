#pragma once

#include "engine/cli/input/options.h"
#include "engine/fleet/session/fleet_session.h"

namespace sparkplan {

/// Adds to the report of another command what the nodes lack of `models`. Contacts no node if the file has none.
void add_content_of(const Cluster& cluster, RunOptions run, Report& report);

}  // namespace sparkplan
