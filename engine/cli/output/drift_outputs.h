#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/cli/output/syslog_message.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/plan/report.h"

namespace sparkplan {

/// Pure. One message per finding, with one of these ids:
/// - "drift": a field drifted;
/// - "foreign": a foreign file decides the field;
/// - "unreachable": the node does not answer;
/// - "unreadable": a node or a resource could not be read;
/// - "invalid": an error in cluster.yaml;
/// - "more": the number of further findings on the node: a node has at most 200 messages.
/// Texts of whole files and values of secrets are left out, also where a message quotes them: as for_others().
std::vector<SyslogMessage> drift_messages(const Report& report, const Cluster& cluster);

/// Both in seconds since 1970; 0 if unknown.
struct MetricTimes {
  std::int64_t run_start = 0;     ///< When the run that wrote the metrics began to read the nodes.
  std::int64_t last_success = 0;  ///< When all nodes could last be read.

  bool operator==(const MetricTimes&) const = default;
};

/// Pure. The report in Prometheus' text format: sparkplan_drift, sparkplan_node_up, sparkplan_pending_changes,
/// sparkplan_run_start_timestamp_seconds, sparkplan_last_success_timestamp_seconds, sparkplan_run_duration_seconds. A
/// node that could not be read has only the sample sparkplan_node_up: an unknown value is not 0. Types that this build
/// lacks are one type, "unknown". A time of 0 has no sample.
/// Source: Prometheus, "Text-based exposition format" 0.0.4.
std::string drift_metrics(const Report& report, const MetricTimes& times);

/// Pure. The times in an earlier text.
MetricTimes times_in(const std::string& metrics);

/// I/O. As above, of the metrics in the file; both 0 without one. Reads at most 64 MiB of a regular file, and waits for
/// no writer: other users may be able to write to the directory of a collector.
MetricTimes times_at(const std::string& path);

/// Pure. True if a run that read the nodes later has written its metrics already: one node can delay a run until the
/// next one has ended. A start after `now` is no reason, because a clock that was wrong must not stop all later runs.
bool is_outdated(std::int64_t run_start, const MetricTimes& written, std::int64_t now);

/// Replaces a file by rename, mode 0644, so that a collector never reads an incomplete file. The text is prepared in
/// .NAME.new in the same directory. node_exporter ignores that name, and a run reuses the file of a killed run.
/// Simultaneous runs take turns, and wait for at most `patience`. Errors: kFailed.
Result<void> replace_textfile(const std::string& path, const std::string& text,
                              std::chrono::milliseconds patience = std::chrono::seconds(30));

/// As above. `text()` is called in this run's turn: until its end, no other run replaces the file. Without a text the
/// file stays as it is.
Result<void> replace_textfile(const std::string& path, const std::function<std::optional<std::string>()>& text,
                              std::chrono::milliseconds patience = std::chrono::seconds(30));

}  // namespace sparkplan
