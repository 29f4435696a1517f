#pragma once

#include <chrono>
#include <stop_token>

namespace sparkplan {

/// Waits that long. False: a stop was asked for, at once when it is asked for meanwhile.
bool pause_unless_stopped(std::chrono::milliseconds duration, const std::stop_token& stop);

}  // namespace sparkplan
