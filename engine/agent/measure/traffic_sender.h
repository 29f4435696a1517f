#pragma once

#include <functional>

#include "engine/core/result.h"
#include "engine/wire/verify_messages.h"

namespace sparkplan {

/// Sends to a TrafficReceiver. Datagrams that the interface cannot send unfragmented are not sent and so not
/// received. Errors: kInvalidInput, those of the system calls (the address is not there).
Result<void> send_datagrams(const SendDatagramsRequest& request);

/// Sends to a TrafficReceiver over several connections at the same time until the duration is over; ends early
/// when `stop_asked`, which is called now and then, is true. Errors: as send_datagrams(); how the
/// connections end is no Error but a reply.
Result<MeasureTcpReply> measure_tcp(const MeasureTcpRequest& request, const std::function<bool()>& stop_asked);

}  // namespace sparkplan
