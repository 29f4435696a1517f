#pragma once

#include <optional>
#include <string>

#include "engine/core/diagnostic.h"
#include "engine/core/result.h"
#include "engine/fleet/session/fleet_session.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// Pure. A node's report before any change. An empty `plan` means that nothing was planned.
NodeReport report_on(const FleetNode& node, NodePlan plan, const Roster& roster);

/// Pure. The report of a node for which no other report can be made.
NodeReport report_on_error(const FleetNode& node, Error error);

/// Pure. A warning about a disruptive change of another run than `run`, until a later run removes the record.
std::optional<Diagnostic> transaction_warning(const FleetNode& node, const std::string& run);

}  // namespace sparkplan
