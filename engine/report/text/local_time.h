#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace sparkplan {

/// How texts for people show times. The defaults are UTC and the beginning of 1970.
struct LocalClock {
  std::int64_t now = 0;  ///< Seconds since 1970, UTC.
  /// The seconds by which the local time is ahead of UTC at a time in seconds since 1970.
  std::function<std::int64_t(std::int64_t)> ahead_of_utc = [](std::int64_t) { return std::int64_t{0}; };
};

/// The clock and the time zone of this process.
LocalClock local_clock();

/// A time of the form "2026-03-01T12:00:00Z" in local time: "today 13:00", else "Mar 01 13:00", and "2025-03-01" in
/// another year. Pure. "?" for every other text: a node could write anything there. Empty for an empty text.
std::string local_time_text(std::string_view utc, const LocalClock& clock);

}  // namespace sparkplan
