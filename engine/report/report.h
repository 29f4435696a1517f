#pragma once

#include <string>

#include "engine/core/value.h"
#include "engine/plan/report.h"
#include "engine/report/text_style.h"

namespace sparkplan {

/// The JSON of plan, drift and apply. Schema: schemas/report.schema.json.
Value to_json_value(const Report& report);

/// For people: nodes with changes first, equal changes of several nodes once, the summary line last. All content of
/// nodes and of the file passes printable().
std::string to_text(const Report& report, const TextStyle& style);

/// The error of a node, without the name of the node before it; printable.
std::string error_text(const NodeReport& node);

/// The last line. No newline.
std::string summary_line(const Report& report);

}  // namespace sparkplan
