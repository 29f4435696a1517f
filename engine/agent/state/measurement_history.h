#pragma once

#include <optional>

#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

inline constexpr const char* kMeasurementsDirectory = "/var/lib/sparkplan/verify";
inline constexpr const char* kMeasurementsFile = "/var/lib/sparkplan/verify/history.jsonl";
/// The number of values kept per check, the newest ones.
inline constexpr std::size_t kKeptMeasurements = 50;
inline constexpr std::size_t kMaxMeasurementsBytes = std::size_t{1} << 20;
/// The id and the versions of each run that stored values. A separate file, because many values share a run.
inline constexpr const char* kMeasuredRunsFile = "/var/lib/sparkplan/verify/runs.jsonl";
/// The number of runs kept, the newest ones.
inline constexpr std::size_t kKeptRuns = 200;

inline constexpr const char* kLastVerifyFile = "/var/lib/sparkplan/verify/last.json";

/// The values of earlier runs; stores the new values after them, and the summary of the run. If the file would become
/// too large, the least recently made checks are removed. An unreadable file is moved away. Errors: kFailed,
/// kPermissionDenied, when the new values could not be stored.
Result<MeasurementsReply> keep_measurements(const MeasurementsRequest& request, LocalNode& node);

/// The stored values and their runs. Empty without a history. Of more than kMostRepliedValues or kMostRepliedChecks,
/// those of the checks that were made last. Errors: kFailed for a damaged history, which stays where it is; those of
/// read_file().
Result<MeasurementHistoryReply> measurement_history(const NodeReader& node);

/// The summary of the latest run of `verify`. Nothing without one, and if it cannot be read: no decision needs it.
std::optional<VerifySummary> last_verify(const NodeReader& node);

}  // namespace sparkplan
