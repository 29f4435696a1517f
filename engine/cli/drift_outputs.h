#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/cli/syslog_message.h"
#include "engine/core/result.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// Pure. One message per finding: a field that drifted ("drift") or that somebody else's file decides
/// ("foreign"), a node that does not answer ("unreachable"), a node or a resource that could not be
/// looked at ("unreadable"), what is wrong in cluster.yaml ("invalid"). Texts of whole files and values
/// of secrets are not in it.
std::vector<SyslogMessage> drift_messages(const Report& report);

/// Pure. The report in Prometheus' text format: sparkplan_drift, sparkplan_node_up,
/// sparkplan_pending_changes, sparkplan_last_success_timestamp_seconds,
/// sparkplan_run_duration_seconds. A node that could not be looked at has no sample but node_up: what
/// is not known is not 0. `last_success` 0 leaves that sample away.
/// Source: Prometheus, "Text-based exposition format" 0.0.4.
std::string drift_metrics(const Report& report, std::int64_t last_success);

/// The value of sparkplan_last_success_timestamp_seconds in an earlier text; 0 when there is none.
std::int64_t last_success_in(const std::string& metrics);

/// Replaces a file by rename, 0644, so that a collector never reads half of it. The text is prepared in
/// .NAME.new beside it, a name that node_exporter passes over and that a run takes over from one that
/// was killed; two runs at a time take turns. Errors: kFailed.
Result<void> replace_textfile(const std::string& path, const std::string& text);

}  // namespace sparkplan
