#pragma once

#include <cstddef>
#include <string>

#include "engine/core/value.h"
#include "engine/fleet/planning/status_run.h"
#include "engine/report/text/local_time.h"
#include "engine/report/text/text_style.h"

/// The output of `status`. In texts, all content of nodes and of the file passes printable().
namespace sparkplan {

/// Pure. A table with a line per node (MANAGED: the number of its managed resources), and its errors below it. Then a
/// table of software with a line for all nodes that have the same, and the counts.
std::string to_text(const StatusReport& report, const LocalClock& clock, const TextStyle& style);

/// Pure. The number of changes that the next apply makes because the file asks for them. With `drifted`, of those that
/// were made on the node since the last apply. Harmless ones do not count.
std::size_t count_changes(const NodePlan& plan, bool drifted);

/// Pure. Schema: schemas/status.schema.json.
Value to_json_value(const StatusReport& report);

}  // namespace sparkplan
