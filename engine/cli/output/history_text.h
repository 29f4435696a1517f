#pragma once

#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/fleet/history/history.h"
#include "engine/report/text/local_time.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {

/// Pure. One line per run, with local times; a line that is wider than `style.width` continues below. With
/// `with_artifacts`, its artifacts are below it.
std::string history_text(const std::vector<ClusterHistoryEntry>& entries, bool with_artifacts, const LocalClock& clock,
                         const TextStyle& style);

/// Pure. The JSON of `history`, with UTC times. Schema: schemas/history.schema.json.
Value history_json(const std::string& cluster, const std::vector<ClusterHistoryEntry>& entries,
                   const std::vector<NodeHistory>& histories, bool with_artifacts);

/// Pure. The errors to print for the damaged journals of a node. The first three are named.
std::vector<Error> gaps_in(const NodeHistory& history);

}  // namespace sparkplan
