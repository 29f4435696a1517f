#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/agent_image.h"
#include "engine/remote/transport.h"

namespace sparkplan {

/// How often a wait looks whether it was told to stop.
inline constexpr std::chrono::milliseconds kStopPatience{200};

/// What a started installer is to put in place.
struct Installation {
  std::string_view what;  ///< For messages: "the agent".
  std::function<std::optional<ProgramImage>(std::string_view architecture)> image;
  bool sends_password = false;  ///< The installer was started with Elevation::kSudoPassword.
  const std::string& become_password;
  std::chrono::milliseconds timeout;
  std::stop_token stop;
};

/// Sends the program for the node's architecture to the installer on `channel` and waits until it is in
/// place. Errors: kUnsupported (this build carries none for the architecture), kPermissionDenied (sudo),
/// kInterrupted, kUnreachable, kFailed.
Result<void> install_program(Channel& channel, const Installation& installation);

/// How a program on that node gets root's rights.
Elevation elevation_for(const NodeSpec& node, const std::string& become_password);

/// What became of a program whose stream has ended with `error`; `noise` is what it printed instead of
/// frames. Any other error is returned as it is.
Error why_silent(Channel& channel, const Error& error, const std::string& noise);

/// True when sudo has asked for the password a second time: the first one was wrong.
bool password_was_refused(const Channel& channel);
Error wrong_password();

/// The end of what was printed, on one line, safe for a terminal.
std::string end_of_output(const std::string& text);

}  // namespace sparkplan
