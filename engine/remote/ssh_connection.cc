#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <utility>

#include "engine/core/text.h"
#include "engine/remote/jump_tunnel.h"
#include "engine/remote/remote_commands.h"
#include "engine/remote/ssh_session.h"
#include "engine/remote/transport.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kMaxStandardError = std::size_t{64} << 10;
constexpr int kPause = 100;  // Milliseconds.

// A node that loses power says nothing, and a step may take minutes: only the connection itself can
// tell in time. Half a minute outlasts a network that is configured anew.
constexpr int kIdleBeforeProbe = 15;  // Seconds.
constexpr int kProbeInterval = 5;     // Seconds.
constexpr int kLostProbes = 3;
constexpr unsigned int kLostData = 30'000;  // Milliseconds without an acknowledgement.

class SshChannel final : public Channel {
 public:
  SshChannel(ssh_session session, ssh::ChannelPointer channel) : session_(session), channel_(std::move(channel)) {}

  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) override {
    std::array<char, 32768> buffer{};
    const int count =
        ssh_channel_read_timeout(channel_.get(), buffer.data(), buffer.size(), 0, static_cast<int>(patience.count()));
    collect_standard_error();
    if (count > 0) {
      into.append(buffer.data(), static_cast<std::size_t>(count));
      return static_cast<std::size_t>(count);
    }
    if (count == SSH_ERROR) return failure(broken("read"));
    if (ssh_channel_is_eof(channel_.get()) != 0 || ssh_channel_is_closed(channel_.get()) != 0) {
      return failure(ErrorCode::kNotFound, "end of stream");
    }
    if (ssh_is_connected(session_) == 0) return failure(broken("read"));
    return std::size_t{0};
  }

  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds deadline) override {
    const auto end = Clock::now() + deadline;
    while (!bytes.empty()) {
      if (ssh_channel_is_closed(channel_.get()) != 0 || ssh_is_connected(session_) == 0)
        return failure(broken("write"));
      // libssh would wait for the window without a limit.
      const std::size_t window = ssh_channel_window_size(channel_.get());
      if (window == 0) {
        if (ssh_channel_poll_timeout(channel_.get(), 50, 0) == SSH_ERROR) return failure(broken("write"));
        if (Clock::now() >= end) return failure(ErrorCode::kUnreachable, "the node takes no more input");
        continue;
      }
      const auto size = std::min({bytes.size(), window, std::size_t{32768}});
      const int written = ssh_channel_write(channel_.get(), bytes.data(), static_cast<std::uint32_t>(size));
      if (written < 0) return failure(broken("write"));
      bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return {};
  }

  void close_input() override { ssh_channel_send_eof(channel_.get()); }

  std::optional<int> exit_status() override {
    // The status is a packet of its own and may come after the end of the stream.
    const auto end = Clock::now() + std::chrono::seconds(2);
    while (ssh_channel_get_exit_status(channel_.get()) == -1 && ssh_channel_is_closed(channel_.get()) == 0 &&
           Clock::now() < end) {
      std::array<char, 256> rest{};
      if (ssh_channel_read_timeout(channel_.get(), rest.data(), rest.size(), 0, 50) == SSH_ERROR) break;
      collect_standard_error();
    }
    const int status = ssh_channel_get_exit_status(channel_.get());
    return status == -1 ? std::nullopt : std::optional<int>(status);
  }

  const std::string& standard_error() const override { return standard_error_; }

 private:
  /// Also when nobody wants it: it shares the flow-control window with standard output.
  void collect_standard_error() {
    std::array<char, 4096> buffer{};
    while (true) {
      const int count = ssh_channel_read_nonblocking(channel_.get(), buffer.data(), buffer.size(), 1);
      if (count <= 0) return;
      const auto room = kMaxStandardError - standard_error_.size();
      standard_error_.append(buffer.data(), std::min(room, static_cast<std::size_t>(count)));
      if (room == 0) return;
    }
  }

  Error broken(const std::string& what) const {
    const std::string reason = printable(ssh_get_error(session_));
    return Error{ErrorCode::kUnreachable,
                 "the connection broke (" + what + (reason.empty() ? "" : ": " + reason) + ")",
                 {},
                 std::nullopt,
                 ""};
  }

  ssh_session session_;
  ssh::ChannelPointer channel_;
  std::string standard_error_;
};

class SshConnection final : public Connection {
 public:
  SshConnection(ssh::SessionPointer session, std::string host_key, std::unique_ptr<ssh::JumpTunnel> tunnel,
                std::chrono::milliseconds timeout)
      : tunnel_(std::move(tunnel)), session_(std::move(session)), host_key_(std::move(host_key)), timeout_(timeout) {}

  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    ssh::ChannelPointer channel(ssh_channel_new(session_.get()));
    if (!channel || !open_session_channel(channel.get())) return failure(refused("open a channel"));
    if (ssh_channel_request_exec(channel.get(), remote_command(program, elevation).c_str()) != SSH_OK) {
      return failure(refused("start a program"));
    }
    return std::make_unique<SshChannel>(session_.get(), std::move(channel));
  }

  std::string host_key() const override { return host_key_; }

 private:
  /// Until the first exec sshd runs without TCP_NODELAY: its answer waits until we have acknowledged the
  /// host keys that it sends before, which a kernel likes to put off for 40 ms. So each look at the
  /// connection acknowledges at once; the kernel forgets the wish at the next packet we send.
  bool open_session_channel(ssh_channel channel) {
    const auto end = Clock::now() + timeout_;
    ssh_set_blocking(session_.get(), 0);
    int answer = SSH_AGAIN;
    while ((answer = ssh_channel_open_session(channel)) == SSH_AGAIN && Clock::now() < end) {
      const int descriptor = ssh_get_fd(session_.get());
      const int on = 1;
      // Through a jump host the socket is a local one, and this does nothing.
      ::setsockopt(descriptor, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
      pollfd readable{descriptor, POLLIN, 0};
      ::poll(&readable, 1, kPause);
    }
    ssh_set_blocking(session_.get(), 1);
    return answer == SSH_OK;
  }

  Error refused(const std::string& what) const {
    // libssh has no words for a time that is over.
    const std::string reason = printable(ssh_get_error(session_.get()));
    return Error{
        ErrorCode::kUnreachable, what + ": " + (reason.empty() ? "no answer in time" : reason), {}, std::nullopt, ""};
  }

  std::unique_ptr<ssh::JumpTunnel> tunnel_;  // Outlives the session that runs through it.
  ssh::SessionPointer session_;
  std::string host_key_;
  std::chrono::milliseconds timeout_;
};

void notice_loss(ssh_session session) {
  const int descriptor = ssh_get_fd(session);
  const int on = 1;
  ::setsockopt(descriptor, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, &kIdleBeforeProbe, sizeof kIdleBeforeProbe);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, &kProbeInterval, sizeof kProbeInterval);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_KEEPCNT, &kLostProbes, sizeof kLostProbes);
  ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &kLostData, sizeof kLostData);
}

/// A pin names one key, and the node may have several: look for the pinned one among its types.
Result<ssh::SessionPointer> session_with_trusted_key(const NodeSpec& node, const ConnectOptions& options,
                                                     std::string& host_key, std::unique_ptr<ssh::JumpTunnel>& tunnel) {
  std::vector<std::string> types{""};
  if (!node.ssh.host_key.empty()) {
    types = {"ssh-ed25519", "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521", "rsa-sha2-512,rsa-sha2-256"};
  }
  Result<ssh::SessionPointer> outcome = failure(ErrorCode::kBug, "no host key type was tried");
  for (const auto& type : types) {
    if (options.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    int socket = -1;
    if (!node.ssh.jump.empty()) {
      SPARK_TRY(tunnel, ssh::JumpTunnel::open(node, options));
      socket = tunnel->take_socket();
    }
    auto session = ssh::open_session(node, options.timeout, type, socket);
    if (!session) {
      // A node without a key of this type refuses the negotiation; the mismatch found before says more.
      if (outcome || outcome.error().code == ErrorCode::kBug) outcome = std::move(session);
      if (type.empty()) return outcome;
      continue;
    }
    SPARK_TRY(const auto key, ssh::examine_host_key(session->get(), node));
    auto trusted = ssh::require_trusted(key, node);
    if (trusted) {
      host_key = key.fingerprint;
      return session;
    }
    outcome = failure(std::move(trusted).error());
    if (key.standing != OfferedHostKey::Standing::kPinMismatch) break;
  }
  return outcome;
}

}  // namespace

Result<std::unique_ptr<Connection>> connect_ssh(const NodeSpec& node, const ConnectOptions& options) {
  std::string host_key;
  std::unique_ptr<ssh::JumpTunnel> tunnel;
  SPARK_TRY(auto session, session_with_trusted_key(node, options, host_key, tunnel));
  SPARK_CHECK(ssh::authenticate(session.get(), node, options));
  if (options.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
  notice_loss(session.get());
  return std::make_unique<SshConnection>(std::move(session), std::move(host_key), std::move(tunnel), options.timeout);
}

}  // namespace sparkplan
