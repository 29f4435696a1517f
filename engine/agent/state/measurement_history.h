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

inline constexpr const char* kLastVerifyFile = "/var/lib/sparkplan/verify/last.json";

/// The values of earlier runs; stores the new values after them, and the summary of the run. If the file would become
/// too large, the least recently made checks are removed. An unreadable file is moved away. Errors: kFailed,
/// kPermissionDenied, when the new values could not be stored.
Result<MeasurementsReply> keep_measurements(const MeasurementsRequest& request, LocalNode& node);

/// The summary of the latest run of `verify`. Nothing without one, and if it cannot be read: no decision needs it.
std::optional<VerifySummary> last_verify(const NodeReader& node);

}  // namespace sparkplan
