#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/core/result.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// Pure. One line of key=value pairs per finding (drifted or foreign change, node that could not be
/// looked at), with no control characters: for syslog.
std::vector<std::string> drift_log_lines(const Report& report);

/// Pure. The report in Prometheus' text format: sparkplan_drift, sparkplan_node_up,
/// sparkplan_pending_changes, sparkplan_last_success_timestamp_seconds,
/// sparkplan_run_duration_seconds. `last_success` 0 leaves that sample away.
/// Source: Prometheus, "Text-based exposition format" 0.0.4.
std::string drift_metrics(const Report& report, std::int64_t last_success);

/// The value of sparkplan_last_success_timestamp_seconds in an earlier text; 0 when there is none.
std::int64_t last_success_in(const std::string& metrics);

/// Replaces a file by rename, 0644, so that a collector never reads half of it. Errors: kFailed.
Result<void> replace_textfile(const std::string& path, const std::string& text);

}  // namespace sparkplan
