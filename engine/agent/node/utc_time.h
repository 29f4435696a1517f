#pragma once

#include <string>

namespace sparkplan {

/// Now as RFC 3339 in UTC: "2026-03-01T12:00:00Z".
std::string utc_now();

}  // namespace sparkplan
