#pragma once

#include <chrono>
#include <cstdint>
#include <stop_token>
#include <string>

#include "engine/core/result.h"

namespace sparkplan {

/// A connected, non-blocking TCP socket with TCP_NODELAY. Tries the addresses of a name one after the other, each for
/// its share of the time. `unknown_name` is the hint of the error if no address is found. Ends at once when a stop is
/// requested, also while the name is looked up. Errors: kUnreachable; kInvalidInput for a link-local IPv6 address
/// without the interface that leads there, or with one that this machine lacks; kInterrupted.
Result<int> connect_tcp(const std::string& address, std::uint16_t port, std::chrono::steady_clock::time_point end,
                        const std::stop_token& stop, const std::string& unknown_name = {});

/// Errors: kInvalidInput, as connect_tcp(). Source: RFC 4007 section 11.
Result<void> check_zone(const std::string& address);

}  // namespace sparkplan
