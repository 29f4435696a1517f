#pragma once

#include <cstdint>
#include <string>

namespace sparkplan {

/// Now as RFC 3339 in UTC: "2026-03-01T12:00:00Z".
std::string utc_now();

/// Seconds since 1970 in the same form.
std::string utc_time(std::int64_t seconds);

}  // namespace sparkplan
