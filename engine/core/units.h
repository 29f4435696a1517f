#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// "256MiB", "9000", "1.5GB", "64k": bytes. KiB/MiB/GiB/TiB are powers of 1024, kB/MB/GB/TB powers
/// of 1000; a letter alone is a power of 1024, as in GNU coreutils; a bare number is bytes.
/// Errors: kInvalidInput; also when the result is no whole number or does not fit int64.
Result<std::int64_t> parse_bytes(std::string_view text);

/// "90s", "5m", "1h30m", "200ms"; a bare number is seconds. Errors: kInvalidInput.
Result<std::chrono::milliseconds> parse_duration(std::string_view text);

/// The shortest exact spelling: 90000 ms -> "1m30s", 1500 ms -> "1500ms".
std::string format_duration(std::chrono::milliseconds duration);

/// "200Gb/s" -> 200e9 bits, "21.875 GB/s" -> 175e9 bits: bits per second. Errors: kInvalidInput.
Result<double> parse_rate(std::string_view text);

}  // namespace sparkplan
