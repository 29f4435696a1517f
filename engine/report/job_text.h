#pragma once

#include <string>

#include "engine/core/value.h"
#include "engine/launch/job_report.h"
#include "engine/launch/stuck_job.h"
#include "engine/report/text/text_style.h"

namespace sparkplan {

/// The JSON of `exec` and `run`. Schema: schemas/job.schema.json. Moves the outputs of the ranks.
Value to_json_value(JobReport report);

/// The end of `exec` and `run` for people: nodes that failed, what is left on a node, and the verdict as the last line.
/// Printable. Empty with `style.quiet` if nothing needs attention.
std::string to_text(const JobReport& report, const TextStyle& style);

/// The report of `run --watch` on a job without output. Printable.
std::string to_text(const StuckJob& job);

}  // namespace sparkplan
