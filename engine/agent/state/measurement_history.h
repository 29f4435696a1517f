#pragma once

#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

inline constexpr const char* kMeasurementsDirectory = "/var/lib/sparkplan/verify";
inline constexpr const char* kMeasurementsFile = "/var/lib/sparkplan/verify/history.jsonl";
/// As many values are kept of one check, the newest ones.
inline constexpr std::size_t kKeptMeasurements = 50;
inline constexpr std::size_t kMaxMeasurementsBytes = std::size_t{1} << 20;

/// What was measured in earlier runs, and the new values behind them; the checks that were made longest
/// ago go when the file would get too large. A file that cannot be read is moved away. Errors: kFailed,
/// kPermissionDenied, when the new ones could not be kept.
Result<MeasurementsReply> keep_measurements(const MeasurementsRequest& request, LocalNode& node);

}  // namespace sparkplan
