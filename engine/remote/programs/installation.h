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
#include "engine/remote/keys/secret.h"
#include "engine/remote/programs/agent_image.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan {

/// How often a wait checks for a stop request.
inline constexpr std::chrono::milliseconds kStopPatience{200};

/// The longest duration of an installation, in reply timeouts: it has to transfer the program.
inline constexpr int kInstallationTimeouts = 2;

/// Answers the password prompt of sudo under kSudoPassword, once.
class SudoConversation {
 public:
  /// For a program that was started without kSudoPassword.
  SudoConversation() = default;
  explicit SudoConversation(Secret password) : password_(std::move(password)) {}

  /// Called after each read until the program's first output: sends the password once sudo has prompted.
  /// Errors: kPermissionDenied when sudo prompts again, kUnreachable.
  Result<void> go_on(Channel& channel, std::chrono::milliseconds left);
  bool password_sent() const { return sent_; }

 private:
  Secret password_;
  bool sent_ = false;
};

/// The program to install, and how to wait for it.
struct Installation {
  std::string_view what;  ///< For messages: "the agent".
  std::function<std::optional<ProgramImage>(std::string_view architecture)> image;
  SudoConversation& sudo;
  std::chrono::milliseconds timeout;  ///< Of a simple request; the whole installation takes at most
                                      ///< kInstallationTimeouts of them.
  std::stop_token stop;
};

/// Sends the program for the node's architecture to the installer on `channel` and waits until it is installed.
/// Errors: kUnsupported (this build has no program for the architecture), kPermissionDenied (sudo), kInterrupted,
/// kUnreachable, kFailed.
Result<void> install_program(Channel& channel, const Installation& installation);

/// The way in which a program on that node becomes root. A machine whose host key was unknown until this run is sent no
/// password.
Elevation elevation_for(const NodeSpec& node, const Connection& connection, const Secret& become_password);

/// `error`, with a hint if sudo refused because the password was held back.
Error with_password_held_back(Error error, const Connection& connection, const Secret& become_password);

/// The oldest C library for which programs are linked; engine/packaging/portability.py checks them. The agent and most
/// other programs for nodes are static and need none.
inline constexpr std::string_view kOldestGlibc = "2.34";

/// True if the loader did not start a program of sparkplan, because the C library lacks a version of a symbol. Pure.
bool lacks_glibc(std::string_view complaint);

/// The reason why a program's stream has ended with `error`; `noise` is its output before the first frame. Errors other
/// than the end of the stream are returned unchanged.
Error why_silent(Channel& channel, const Error& error, const std::string& noise);

/// The end of the output, on one line, safe for a terminal, at most kLongestShortText bytes.
std::string end_of_output(const std::string& text);

}  // namespace sparkplan
