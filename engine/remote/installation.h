#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/agent_image.h"
#include "engine/remote/secret.h"
#include "engine/remote/transport.h"

namespace sparkplan {

/// How often a wait looks whether it was told to stop.
inline constexpr std::chrono::milliseconds kStopPatience{200};

/// How long an installation may take in all, in reply timeouts: the program has to get there.
inline constexpr int kInstallationTimeouts = 2;

/// sudo under kSudoPassword asks where it does not know better: then it gets the password, once.
class SudoConversation {
 public:
  /// With a program that was started otherwise.
  SudoConversation() = default;
  explicit SudoConversation(Secret password) : password_(std::move(password)) {}

  /// After each read until the program speaks: sends the password once sudo's prompt is there.
  /// Errors: kPermissionDenied when it asks again, kUnreachable.
  Result<void> go_on(Channel& channel, std::chrono::milliseconds left);
  bool password_sent() const { return sent_; }

 private:
  Secret password_;
  bool sent_ = false;
};

/// What a started installer is to put in place.
struct Installation {
  std::string_view what;  ///< For messages: "the agent".
  std::function<std::optional<ProgramImage>(std::string_view architecture)> image;
  SudoConversation& sudo;
  std::chrono::milliseconds timeout;  ///< Of a simple question; all of it takes kInstallationTimeouts of them at most.
  std::stop_token stop;
};

/// Sends the program for the node's architecture to the installer on `channel` and waits until it is in
/// place. Errors: kUnsupported (this build carries none for the architecture), kPermissionDenied (sudo),
/// kInterrupted, kUnreachable, kFailed.
Result<void> install_program(Channel& channel, const Installation& installation);

/// How a program on that node gets root's rights. A machine whose host key was unknown until now is sent no password.
Elevation elevation_for(const NodeSpec& node, const Connection& connection, const Secret& become_password);

/// What became of a program whose stream has ended with `error`; `noise` is what it printed instead of
/// frames. Any other error is returned as it is.
Error why_silent(Channel& channel, const Error& error, const std::string& noise);

/// The end of what was printed, on one line, safe for a terminal, at most kLongestShortText bytes.
std::string end_of_output(const std::string& text);

}  // namespace sparkplan
