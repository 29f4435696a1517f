#pragma once

#include <functional>

#include "engine/core/result.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// Sends to a receiver. Datagrams that the interface cannot send unfragmented are not sent; the receiver then misses
/// them. Errors: kInvalidInput, those of the system calls (the interface does not have the address).
Result<void> send_datagrams(const SendDatagramsRequest& request);

/// Sends to a receiver over several connections at the same time until the duration is over or `stop_asked` returns
/// true. `stop_asked` is called from time to time. Errors: those of send_datagrams(). The reply reports connections
/// that fail.
Result<MeasureTcpReply> measure_tcp(const MeasureTcpRequest& request, const std::function<bool()>& stop_asked);

}  // namespace sparkplan
