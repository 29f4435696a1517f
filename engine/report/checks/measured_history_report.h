#pragma once

#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/report/text/local_time.h"
#include "engine/report/text/text_style.h"
#include "engine/verify/measured_history.h"

/// The output of `verify --history`. In texts, all content of nodes passes printable().
namespace sparkplan {

struct MeasuredHistoryReport {
  std::string cluster;
  std::string check;                    ///< The id that the user named; empty: all checks.
  std::vector<NodeMeasurements> nodes;  ///< The nodes that the run asked.
  std::vector<CheckHistory> checks;     ///< If the user named an id, only those with it.
};

/// Pure. The last runs with the worst value of each kind, then the checks that became slower, then the counts. Of a
/// single check: all its values, with the versions of the node. Times are local.
std::string to_text(const MeasuredHistoryReport& report, const LocalClock& clock, const TextStyle& style);

/// Pure. The unit of its values: "Gb/s". Empty for a check of no kind.
std::string unit_of(const CheckHistory& history);

/// Pure. What happened beside the change of `history`, which has one: one sentence each.
std::vector<std::string> notes_of(const CheckHistory& history);

/// Pure. With UTC times. Schema: schemas/verify-history.schema.json.
Value to_json_value(const MeasuredHistoryReport& report);

}  // namespace sparkplan
