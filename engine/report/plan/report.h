#pragma once

#include <string>

#include "engine/core/value.h"
#include "engine/plan/report.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {

/// The JSON of plan, drift and apply. Schema: schemas/report.schema.json.
Value to_json_value(const Report& report);

/// Pure. For people: one line per changed resource with its nodes, then the nodes without changes, and the verdict as
/// the last line. After an apply, the line of a resource has its outcome and no diff. No line is wider than
/// `style.width`, except with `style.verbose`. All content of nodes and of the file passes printable().
std::string to_text(const Report& report, const TextStyle& style);

/// The error of a node, without the name of the node before it; printable.
std::string error_text(const NodeReport& node);

/// The errors of nodes, each once with the nodes that share it: "! spark-[01-02] unreachable: ..." and the hint.
std::string node_errors_text(const Report& report, const TextStyle& style);

/// The verdict with its details, on one line, without a newline.
std::string verdict_line(const Report& report);

/// The end of to_text(). Its last line is the verdict; if that would be too long, the details come before it.
std::string verdict_text(const Report& report, const TextStyle& style);

}  // namespace sparkplan
