#pragma once

#include <functional>

#include "engine/core/result.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// Sends to an ear. What the interface itself cannot send in one piece is not sent, which shows at the
/// ear. Errors: kInvalidInput, those of the system calls (the address is not there).
Result<void> send_datagrams(const SendDatagramsRequest& request);

/// Sends to an ear over several connections at the same time until the duration is over; ends early
/// when `stop_asked` says so, which is called now and then. Errors: as send_datagrams(); what becomes of
/// the connections is no Error but a reply.
Result<MeasureTcpReply> measure_tcp(const MeasureTcpRequest& request, const std::function<bool()>& stop_asked);

}  // namespace sparkplan
