#pragma once

#include "engine/cli/input/options.h"
#include "engine/fleet/session/fleet_session.h"

namespace sparkplan {

/// Adds to the report of another command the content of `models` and `images` that nodes lack. Contacts no node if the
/// file names no content.
void add_content_of(const Cluster& cluster, const RunOptions& run, Report& report);

}  // namespace sparkplan
