#pragma once

#include <chrono>
#include <functional>

#include "engine/core/result.h"
#include "engine/core/value.h"

/// The two directions of a program whose controller may disappear at every moment.
namespace sparkplan {

/// The exit status of a program whose input has ended.
inline constexpr int kInputEndedStatus = 75;

/// Passes each message of `input` to `take`, from a separate thread, which ends with the process. An error is
/// passed too, and no message after it. If the thread cannot start, that error is passed before the return. When the
/// input ends, or after `longest_silence` without a byte, the whole process ends at once with kInputEndedStatus.
void read_from_controller(int input, std::chrono::milliseconds longest_silence,
                          const std::function<void(Result<Value>)>& take);

/// Writes the message as one frame. If the controller is gone, the whole process ends at once with kInputEndedStatus.
/// Errors: those of encode_frame(); then nothing is sent.
Result<void> send_to_controller(int output, const Value& message);

}  // namespace sparkplan
