#pragma once

#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/launch/job_report.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {

/// The JSON of `exec` and `run`. Schema: schemas/job.schema.json.
Value to_json_value(const JobReport& report);

/// The end of `exec` and `run` for people: nodes that failed, what is left on a node, and the verdict as the last line.
/// Printable. Empty with `style.quiet` if nothing needs attention.
std::string to_text(const JobReport& report, const TextStyle& style);

}  // namespace sparkplan
