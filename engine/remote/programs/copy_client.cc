#include "engine/remote/programs/copy_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <utility>

#include "engine/model/ipv4.h"
#include "engine/remote/programs/agent_image.h"
#include "engine/remote/programs/installation.h"
#include "engine/remote/transport/here.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

bool is_ours(const CopyHello& hello) {
  const auto image = copy_image(hello.architecture);
  return image && image->build == hello.build;
}

/// The address, unless it means something else on other machines.
std::string numeric_address_in(const std::string& address) {
  constexpr std::uint32_t kLoopback = 127;
  const auto four = parse_ipv4(address);
  if (four) return four->bits >> 24U == kLoopback ? "" : address;
  in6_addr six{};
  if (::inet_pton(AF_INET6, address.c_str(), &six) != 1) return "";
  return IN6_IS_ADDR_LINKLOCAL(&six) || IN6_IS_ADDR_LOOPBACK(&six) ? "" : address;
}

}  // namespace

Result<CopyClient> CopyClient::open(const NodeSpec& node, const AgentOptions& options) {
  if (node.transport == TransportKind::kLocal) {
    return failure(ErrorCode::kUnsupported, "a node that is a directory takes no part in a sync");
  }
  SPARK_TRY(auto connection, options.connector(node, options.connect));
  CopyClient client(node, std::move(connection), options);
  client.elevation_ = elevation_for(node, *client.connection_, options.become_password);
  auto hello = client.start();
  const bool missing = !hello && hello.error().code == ErrorCode::kNotFound;
  const bool other = hello && !is_ours(*hello);
  if ((missing || other) && options.install != InstallPolicy::kNever) {
    SPARK_CHECK(client.reconnect_after_password());
    SPARK_CHECK(client.install());
    SPARK_CHECK(client.reconnect_after_password());
    hello = client.start();
  }
  if (missing && options.install == InstallPolicy::kNever) {
    return failure(ErrorCode::kNotFound, "sparkplan-copy is not on the node",
                   "run `sparkplan sync`, which installs it");
  }
  if (!hello) return failure(std::move(hello).error());
  if (!is_ours(*hello)) return failure(ErrorCode::kFailed, "the node has a sparkplan-copy of another build");
  return client;
}

Result<CopyClient> CopyClient::open_here(const NodeSpec& here, const AgentOptions& options) {
  CopyClient client(here, connect_here(), options);
  SPARK_TRY(const auto hello, client.start());
  if (is_ours(hello)) return client;
  return failure(ErrorCode::kFailed, "this machine has a sparkplan-copy of another build");
}

std::string CopyClient::management_address() const {
  // Only the file knows an address behind a jump host or a forwarded port.
  const std::string direct = numeric_address_in(connection_->peer_address());
  return !direct.empty() ? direct : numeric_address_in(node_->address);
}

/// A password is sent once per connection. A second use needs a new connection, to the same machine.
Result<void> CopyClient::reconnect_after_password() {
  if (!sudo_.password_sent()) return {};
  channel_.reset();
  SPARK_TRY(connection_, to_same_machine(options_.connector, connection_->host_key())(*node_, options_.connect));
  return {};
}

Result<void> CopyClient::install() {
  channel_.reset();
  SPARK_TRY(channel_, connection_->start(RemoteProgram::kCopyInstaller, elevation_));
  sudo_ = elevation_ == Elevation::kSudoPassword ? SudoConversation(options_.become_password) : SudoConversation();
  auto installed =
      install_program(*channel_, {"sparkplan-copy", copy_image, sudo_, options_.reply_timeout, options_.connect.stop});
  if (installed) return {};
  Error error = std::move(installed).error();
  // A sudo rule that lets the agent run without a password does not allow installing a program.
  if (error.code == ErrorCode::kPermissionDenied) error.hint = "pass --ask-become-pass";
  return failure(with_password_held_back(std::move(error), *connection_, options_.become_password));
}

Result<void> CopyClient::restart() {
  SPARK_CHECK(reconnect_after_password());
  SPARK_TRY(const auto hello, start());
  if (is_ours(hello)) return {};
  return failure(ErrorCode::kFailed, "the node has a sparkplan-copy of another build");
}

Result<CopyHello> CopyClient::start() {
  channel_.reset();
  reader_ = FrameReader();
  sudo_ = SudoConversation();
  SPARK_TRY(channel_, connection_->start(RemoteProgram::kCopy, elevation_));
  if (elevation_ == Elevation::kSudoPassword) sudo_ = SudoConversation(options_.become_password);
  // If sudo may prompt, it could read the first bytes as the password.
  const bool wait_for_hello = elevation_ == Elevation::kSudoPassword;
  if (!wait_for_hello) (void)channel_->write_all(kPreamble, options_.reply_timeout);
  const auto end = Clock::now() + options_.reply_timeout;
  while (Clock::now() < end) {
    SPARK_TRY(const auto answer, receive(kStopPatience));
    if (!reader_.preamble_seen()) SPARK_CHECK(sudo_.go_on(*channel_, options_.reply_timeout));
    if (!answer) continue;
    const auto* hello = std::get_if<CopyHello>(&*answer);
    if (hello == nullptr) return failure(ErrorCode::kFailed, "sparkplan-copy sent no greeting");
    if (wait_for_hello) SPARK_CHECK(channel_->write_all(kPreamble, options_.reply_timeout));
    return *hello;
  }
  return failure(ErrorCode::kUnreachable, "sparkplan-copy did not start in time");
}

Result<void> CopyClient::send(const CopyCommand& command) {
  if (!channel_) return failure(ErrorCode::kUnreachable, "sparkplan-copy is not running");
  SPARK_TRY(const auto frame, encode_frame(encode(command)));
  return channel_->write_all(frame, options_.reply_timeout);
}

Result<std::optional<CopyAnswer>> CopyClient::receive(std::chrono::milliseconds patience) {
  if (options_.connect.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
  if (!channel_) return failure(ErrorCode::kUnreachable, "sparkplan-copy is not running");
  auto message = reader_.next();
  if (message && !*message) {
    std::string bytes;
    const auto count = channel_->read_some(bytes, patience);
    if (!count) {
      auto error = why_silent(*channel_, count.error(), reader_.noise());
      if (count.error().code == ErrorCode::kNotFound && error.code == ErrorCode::kUnreachable) {
        error = {ErrorCode::kFailed, "a signal ended sparkplan-copy", {}, std::nullopt, ""};
      }
      return failure(std::move(error));
    }
    reader_.feed(bytes);
    message = reader_.next();
  }
  if (!message) {
    return failure(ErrorCode::kFailed,
                   "the node does not speak sparkplan's protocol: " + shown_text(message.error().describe()));
  }
  if (!*message) return std::optional<CopyAnswer>();
  auto answer = decode<CopyAnswer>(**message);
  if (!answer) return failure(bounded(std::move(answer).error()));
  if (auto* failed = std::get_if<CopyFailure>(&*answer)) return failure(bounded(std::move(failed->error)));
  return std::optional<CopyAnswer>(*std::move(answer));
}

}  // namespace sparkplan
