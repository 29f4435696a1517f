#pragma once

#include <cstdint>
#include <string>

#include "engine/node/node.h"

namespace sparkplan {

/// Now as RFC 3339 in UTC: "2026-03-01T12:00:00Z".
std::string utc_now();

/// Seconds since 1970 in the same form.
std::string utc_time(std::int64_t seconds);

/// The time since the machine was started, suspended or not. Source: clock_gettime(2), CLOCK_BOOTTIME.
std::int64_t seconds_since_boot();

/// The kernel's random id of this boot; empty if it cannot be read.
std::string boot_id(const NodeReader& node);

}  // namespace sparkplan
