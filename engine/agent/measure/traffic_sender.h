#pragma once

#include <functional>

#include "engine/core/result.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// Sends to a receiver. Datagrams that the interface cannot send unfragmented are not sent, which shows at the
/// receiver. Errors: kInvalidInput, those of the system calls (the address is not there).
Result<void> send_datagrams(const SendDatagramsRequest& request);

/// Sends to a receiver over several connections at the same time until the duration is over, or `stop_asked`, which
/// is called now and then, returns true. Errors: as send_datagrams(); a connection that fails is reported in the reply.
Result<MeasureTcpReply> measure_tcp(const MeasureTcpRequest& request, const std::function<bool()>& stop_asked);

}  // namespace sparkplan
