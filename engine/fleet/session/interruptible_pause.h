#pragma once

#include <chrono>
#include <stop_token>

namespace sparkplan {

/// Waits that long. A stop ends the wait at once and returns false.
bool pause_unless_stopped(std::chrono::milliseconds duration, const std::stop_token& stop);

}  // namespace sparkplan
