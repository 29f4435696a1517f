#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// "256MiB", "9000", "1.5GB", "64k": bytes. KiB/MiB/GiB/TiB are powers of 1024, kB/MB/GB/TB powers of 1000. A single
/// letter is a power of 1024, as in GNU coreutils and systemd. A number without a unit is bytes.
/// Errors: kInvalidInput; also when the result is not a whole number or does not fit int64.
Result<std::int64_t> parse_bytes(std::string_view text);

/// "90s", "5m", "1h30m", "200ms"; a number without a unit is seconds. Errors: kInvalidInput.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// The shortest exact spelling: 90000 ms -> "1m30s", 1500 ms -> "1500ms".
std::string format_duration(std::chrono::milliseconds duration);

/// "41 MB": whole megabytes of 10^6 bytes, rounded down. All sizes in one message have the same unit.
std::string format_megabytes(std::int64_t bytes);

/// "200Gb/s" -> 200e9 bits, "21.875 GB/s" -> 175e9 bits: bits per second. Errors: kInvalidInput.
Result<double> parse_rate(std::string_view text);

}  // namespace sparkplan
