#include "engine/remote/programs/installation.h"

#include <algorithm>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/remote/programs/request_deadline.h"
#include "engine/remote/transport/remote_commands.h"
#include "engine/wire/frame.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::string_view kSudoHint =
    "give the password with --ask-become-pass, or permit the agent without one in sudoers: "
    "USER ALL=(root) NOPASSWD: /usr/local/libexec/sparkplan/agent --stdio";

Error password_refused() {
  return make_error(ErrorCode::kPermissionDenied, "sudo did not accept the password",
                    "run the command again with --ask-become-pass, and give the password with which the login user "
                    "runs sudo on this node");
}

/// The last line with text, in which programs usually print the reason.
std::string last_line(const std::string& text) {
  std::string last;
  for (const auto line : split_lines(text)) {
    if (!trim(line).empty()) last = std::string(trim(line));
  }
  return shown_text(last);
}

std::size_t occurrences(std::string_view text, std::string_view word) {
  std::size_t count = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size())) ++count;
  return count;
}

/// The architecture in the installer's greeting; nothing before the greeting.
std::optional<std::string> greeted_with(const std::string& output) {
  const auto greeting = output.find(std::string(kInstallerGreeting) + " ");
  if (greeting == std::string::npos || output.find('\n', greeting) == std::string::npos) return std::nullopt;
  const auto begin = greeting + kInstallerGreeting.size() + 1;
  return output.substr(begin, output.find('\n', greeting) - begin);
}

Result<void> send_image(Channel& channel, const Installation& installation, const std::string& architecture,
                        const RequestClock& clock) {
  const auto image = installation.image(architecture);
  if (!image) {
    return failure(ErrorCode::kUnsupported,
                   "this build does not contain " + std::string(installation.what) + " for the architecture " +
                       shown_text(architecture, 40),
                   "it supports: " + join(agent_architectures(), ", "));
  }
  SPARK_CHECK(channel.write_all(std::string(kInstallerPut) + "\n", clock.left(Clock::now())));
  // A node with a full disk closes the stream; its own error message gives the reason.
  (void)channel.write_all(image->packed, clock.left(Clock::now()));
  channel.close_input();
  return {};
}

}  // namespace

Result<void> SudoConversation::go_on(Channel& channel, std::chrono::milliseconds left) {
  if (password_.empty()) return {};
  const auto asked = occurrences(channel.standard_error(), kSudoPrompt);
  if (asked > 1) return failure(password_refused());
  if (asked == 0 || std::exchange(sent_, true)) return {};
  // If the program has already ended, the next read gives the reason.
  (void)channel.write_all(password_.line(), left);
  return {};
}

Result<void> install_program(Channel& channel, const Installation& installation) {
  const auto what = std::string(installation.what);
  std::string output;
  bool sent = false;
  const auto whole = installation.timeout * kInstallationTimeouts;
  const RequestClock clock({whole, whole, 0}, Clock::now());
  while (output.find(kInstallerDone) == std::string::npos) {
    const auto count = channel.read_some(output, std::min(clock.left(Clock::now()), kStopPatience));
    if (installation.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    if (!count) return failure(why_silent(channel, count.error(), "").within("install " + what));
    if (clock.over(Clock::now())) {
      return failure(ErrorCode::kUnreachable, "the installation of " + what + " did not finish in time");
    }
    if (output.size() > kMaxNoiseBytes) {
      return failure(ErrorCode::kUnreachable, "the node printed more than 64 KiB instead of accepting " + what);
    }
    const auto architecture = greeted_with(output);
    if (!architecture) SPARK_CHECK(installation.sudo.go_on(channel, clock.left(Clock::now())));
    if (sent || !architecture) continue;
    SPARK_CHECK(send_image(channel, installation, *architecture, clock));
    sent = true;
  }
  return {};
}

Elevation elevation_for(const NodeSpec& node, const Connection& connection, const Secret& become_password) {
  const std::string user = connection.user().empty() ? node.ssh.user : connection.user();
  if (node.transport == TransportKind::kLocal || node.ssh.become == Become::kNone || user == "root") {
    return Elevation::kNone;
  }
  const bool has_password = !become_password.empty() && !connection.host_key_is_new();
  return has_password ? Elevation::kSudoPassword : Elevation::kSudo;
}

Error with_password_held_back(Error error, const Connection& connection, const Secret& become_password) {
  if (error.code != ErrorCode::kPermissionDenied || become_password.empty() || !connection.host_key_is_new()) {
    return error;
  }
  error.hint =
      "compare the host key with the machine's own, and run the command again: the password was not sent, "
      "because this run recorded the key";
  return error;
}

// Source: glibc, elf/dl-version.c ("version `%s' not found (required by %s)").
bool lacks_glibc(std::string_view complaint) {
  const auto lines = split_lines(complaint);
  return std::any_of(lines.begin(), lines.end(), [](std::string_view line) {
    const auto version = line.find("version `GLIBC_");
    return version != std::string_view::npos &&
           line.find("' not found (required by /usr/local/libexec/sparkplan/", version) != std::string_view::npos;
  });
}

Error why_silent(Channel& channel, const Error& error, const std::string& noise) {
  if (error.code != ErrorCode::kNotFound) return error;  // Not the end of the stream.
  const auto status = channel.exit_status();
  const auto& complaint = channel.standard_error();
  if (status == kNoAgentStatus)
    return make_error(ErrorCode::kNotFound, "there is no agent on the node",
                      "if the node was released or never applied, run `sparkplan apply` to make the node a member, or "
                      "remove the node from the file; otherwise run `sparkplan plan`, which installs the agent");
  if (complaint.find("sudo:") != std::string::npos) {
    return make_error(ErrorCode::kPermissionDenied, "sudo refused: " + last_line(complaint), std::string(kSudoHint));
  }
  if (lacks_glibc(complaint)) {
    return make_error(
        ErrorCode::kUnsupported,
        "the node's C library is too old for this program: it needs glibc " + std::string(kOldestGlibc) + " or newer",
        "upgrade the node's distribution; Ubuntu 22.04, Debian 12 and newer ones have it");
  }
  std::string message = "the connection ended";
  if (status) message = "the remote program ended with status " + std::to_string(*status);
  if (!complaint.empty()) {
    message += ": " + last_line(complaint);
  } else if (!noise.empty()) {
    message += " after printing: " + end_of_output(noise);
  }
  // With a status, the program ran and failed. Without a status, the connection was cut.
  return make_error(status ? ErrorCode::kFailed : ErrorCode::kUnreachable, message);
}

std::string end_of_output(const std::string& text) {
  std::string joined;
  for (const auto line : split_lines(text)) {
    if (trim(line).empty()) continue;
    joined += (joined.empty() ? "" : " | ") + std::string(trim(line));
  }
  constexpr std::size_t kShown = 200;
  return shown_text(joined.size() > kShown ? std::string_view(joined).substr(joined.size() - kShown) : joined);
}

}  // namespace sparkplan
