#include <libssh/callbacks.h>
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
#include "engine/remote/ssh_config_files.h"
#include "engine/remote/ssh_connection.h"
#include "engine/remote/ssh_session.h"
#include "engine/remote/transport.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kPauseInWriting{20};
/// The most output of a program that read_some() has not read yet. libssh grants a peer a window of 1.3 MB, but
/// accepts more.
constexpr std::size_t kMostUnread = std::size_t{4} << 20;
/// A command may print while a message to its starter is written. libssh sends nothing before it has handed out what it
/// holds, which may be several windows of output.
constexpr std::size_t kMostArrived = std::size_t{32} << 20;
constexpr std::size_t kPiece = 32768;

// A node that loses power sends no message, and a step may take minutes. So only probes of the connection itself find
// out in time. Half a minute is longer than the reconfiguration of a network.
constexpr int kIdleBeforeProbe = 15;  // Seconds.
constexpr int kProbeInterval = 5;     // Seconds.
constexpr int kLostProbes = 3;
constexpr unsigned int kLostData = 30'000;  // Milliseconds without an acknowledgement.

/// A session, and the tunnel that it uses.
struct SshConnectionParts {
  std::unique_ptr<ssh::JumpTunnel> tunnel;  // Outlives the session that uses it.
  ssh::SessionPointer session;
};

class SshChannel final : public Channel {
 public:
  SshChannel(std::shared_ptr<const SshConnectionParts> way, ssh::ChannelPointer channel)
      : way_(std::move(way)),
        session_(way_->session.get()),
        watch_(*way_->session.get_deleter().watch),
        channel_(std::move(channel)) {
    callbacks_.userdata = this;
    callbacks_.channel_data_function = take_data;
    ssh_callbacks_init(&callbacks_);
    ssh_set_channel_callbacks(channel_.get(), &callbacks_);
    take_early_errors();
  }
  SshChannel(const SshChannel&) = delete;
  SshChannel& operator=(const SshChannel&) = delete;
  ~SshChannel() override { ssh_remove_channel_callbacks(channel_.get(), &callbacks_); }

  Result<std::size_t> read_some(std::string& into, std::chrono::milliseconds patience) override {
    const auto end = Clock::now() + patience;
    const auto said_before = error_bytes_;
    if (!arrived_.empty()) {
      const auto count = arrived_.size();
      into.append(std::exchange(arrived_, {}));
      return count;
    }
    while (true) {
      SPARK_TRY(const auto count, read_now(into));
      // New text on standard error is returned at once, as callers may wait for it.
      if (count > 0 || error_bytes_ != said_before || Clock::now() >= end) return count;
      wait_until(end);
    }
  }

  Result<void> write_all(std::string_view bytes, std::chrono::milliseconds deadline) override {
    const auto end = Clock::now() + deadline;
    while (true) {
      if (ssh_channel_is_closed(channel_.get()) != 0 || ssh_is_connected(session_) == 0)
        return failure(broken("write"));
      // Bytes that libssh has accepted but the kernel has not are not written yet.
      // In a flood of output they never end, as each read adds a packet: the reads that follow send them.
      const bool unsent = has_unsent() && arrived_.size() <= kMostUnread;
      if (bytes.empty() && !unsent) return {};
      std::size_t written = 0;
      if (!unsent) {
        SPARK_TRY(written, write_now(bytes));
        bytes.remove_prefix(written);
      }
      if (written > 0) continue;
      if (Clock::now() >= end) return failure(ErrorCode::kUnreachable, "the node accepts no more input");
      SPARK_CHECK(make_way());
      // A change in the unsent bytes is used at once. All other waits are short: poll() does not report bytes that
      // libssh has already read from the socket.
      if (unsent && !has_unsent()) continue;
      wait_until(std::min(end, Clock::now() + kPauseInWriting));
    }
  }

  void close_input() override { ssh_channel_send_eof(channel_.get()); }

  std::optional<int> exit_status() override {
    // The status is a separate packet and may come after the end of the stream.
    const auto end = Clock::now() + std::chrono::seconds(2);
    const auto settled = [this] {
      return ssh_channel_get_exit_status(channel_.get()) != -1 || ssh_channel_is_closed(channel_.get()) != 0;
    };
    while (!settled() && Clock::now() < end) {
      std::string rest;
      if (const auto read = read_now(rest); !read && read.error().code != ErrorCode::kNotFound) break;
      // The bytes just read may have contained the status.
      if (!settled()) wait_until(end);
    }
    const int status = ssh_channel_get_exit_status(channel_.get());
    return status == -1 ? std::nullopt : std::optional<int>(status);
  }

  const std::string& standard_error() const override { return standard_error_; }

 private:
  /// Reads the bytes that libssh holds or can read from the socket without waiting. 0: none.
  Result<std::size_t> read_now(std::string& into) {
    std::array<char, kPiece> buffer{};
    const int count = ssh_channel_read_timeout(channel_.get(), buffer.data(), buffer.size(), 0, 0);
    SPARK_CHECK(check_flood());
    if (count > 0) {
      watch_.payload += static_cast<std::size_t>(count);
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

  /// Lets libssh handle packets in both directions: it sends its pending bytes and receives window updates. It handles
  /// none while it holds unread standard output. So that output is read here, for the next read_some().
  Result<void> make_way() {
    if (arrived_.size() > kMostArrived) return failure(ErrorCode::kFailed, "the node sends data without a request");
    const auto read = read_now(arrived_);
    // After the end of the stream libssh handles no packets, so it would not send its pending bytes either.
    if (!read && read.error().code == ErrorCode::kNotFound) return failure(broken("write: the program has ended"));
    if (!read) return failure(read.error());
    if (ssh_channel_poll_timeout(channel_.get(), 0, 0) == SSH_ERROR) return failure(broken("write"));
    return check_flood();
  }

  Result<std::size_t> write_now(std::string_view bytes) {
    // libssh would wait for the window without a limit.
    const std::size_t window = ssh_channel_window_size(channel_.get());
    const auto size = std::min({bytes.size(), window, kPiece});
    if (size == 0) return std::size_t{0};
    const int written = ssh_channel_write(channel_.get(), bytes.data(), static_cast<std::uint32_t>(size));
    if (written < 0 && written != SSH_AGAIN) return failure(broken("write"));
    return static_cast<std::size_t>(std::max(written, 0));
  }

  bool has_unsent() const { return (ssh_get_poll_flags(session_) & SSH_WRITE_PENDING) != 0; }

  void wait_until(Clock::time_point end) const {
    const short events = has_unsent() ? POLLIN | POLLOUT : POLLIN;
    pollfd waiting{ssh_get_fd(session_), events, 0};
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    ::poll(&waiting, 1, static_cast<int>(std::max<std::int64_t>(left, 0)));
  }

  /// Takes the standard error that arrived before the callback was set. Until it is read, libssh does not report the
  /// end of the stream and handles no packets.
  void take_early_errors() {
    std::array<char, kPiece> buffer{};
    while (true) {
      const int count = ssh_channel_read_timeout(channel_.get(), buffer.data(), buffer.size(), 1, 0);
      if (count <= 0) return;
      take_data(session_, channel_.get(), buffer.data(), static_cast<std::uint32_t>(count), 1, this);
    }
  }

  /// Called by libssh for each packet, with all unread bytes. Returns the number of bytes taken: none of standard
  /// output, which read_some() reads, and all of standard error, even if no caller reads it.
  static int take_data(ssh_session /*session*/, ssh_channel /*channel*/, void* data, std::uint32_t size, int is_error,
                       void* self) {
    auto& channel = *static_cast<SshChannel*>(self);
    if (is_error != 0) {
      channel.error_bytes_ += size;
      channel.watch_.payload += size;
      const auto room = kMaxStandardError - channel.standard_error_.size();
      channel.standard_error_.append(static_cast<const char*>(data), std::min<std::size_t>(room, size));
      return static_cast<int>(size);
    }
    if (size <= kMostUnread) return 0;
    channel.too_much_ = true;
    return static_cast<int>(size);
  }

  Result<void> check_flood() const {
    if (too_much_) return failure(ErrorCode::kFailed, "the node sends more than the connection allows");
    if (error_bytes_ > kStandardErrorFlood) {
      return failure(ErrorCode::kFailed, "the node printed more than " + std::to_string(kStandardErrorFlood >> 20U) +
                                             " MiB on standard error");
    }
    if (watch_.floods()) return failure(ErrorCode::kFailed, "the node sends unrequested packets");
    return {};
  }

  Error broken(const std::string& what) const {
    const std::string reason = ssh::ssh_words(session_);
    return make_error(ErrorCode::kUnreachable,
                      "the connection broke (" + what + (reason.empty() ? "" : ": " + reason) + ")");
  }

  std::shared_ptr<const SshConnectionParts> way_;  // Outlives the channel, even if the connection is destroyed first.
  ssh_session session_;
  ssh::SessionWatch& watch_;
  ssh::ChannelPointer channel_;
  ssh_channel_callbacks_struct callbacks_{};
  std::string arrived_;  ///< Arrived during a write.
  std::string standard_error_;
  std::uint64_t error_bytes_ = 0;
  bool too_much_ = false;
};

class SshConnection final : public Connection {
 public:
  SshConnection(std::shared_ptr<const SshConnectionParts> way, OfferedHostKey host_key, std::string user,
                std::chrono::milliseconds timeout)
      : way_(std::move(way)), host_key_(std::move(host_key)), user_(std::move(user)), timeout_(timeout) {}

  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    const auto end = Clock::now() + timeout_;
    const auto& session = way_->session;
    ssh::ChannelPointer channel(ssh_channel_new(session.get()));
    const auto open = [&] { return ssh_channel_open_session(channel.get()); };
    if (!channel || ssh::await_answer(session, end, {}, open) != SSH_OK) return failure(refused("open a channel"));
    const auto command = remote_command(program, elevation);
    const auto begin = [&] { return ssh_channel_request_exec(channel.get(), command.c_str()); };
    if (ssh::await_answer(session, end, {}, begin) != SSH_OK) return failure(refused("start a program"));
    return std::make_unique<SshChannel>(way_, std::move(channel));
  }

  std::string host_key() const override { return host_key_.fingerprint; }
  std::string user() const override { return user_; }
  bool host_key_is_new() const override { return host_key_.standing == OfferedHostKey::Standing::kUnknown; }

 private:
  Error refused(const std::string& what) const {
    // libssh has no error text for a timeout.
    const std::string reason = ssh::ssh_words(way_->session.get());
    return make_error(ErrorCode::kUnreachable, what + ": " + (reason.empty() ? "no answer in time" : reason));
  }

  std::shared_ptr<const SshConnectionParts> way_;
  OfferedHostKey host_key_;
  std::string user_;
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

/// The way to a station of a node, up to the check of its host key.
class Approach {
 public:
  Approach(const SshWay& way, const ConnectOptions& options) : way_(way), options_(options) {}

  /// A session to the station over those before it, where we log in. The station's own key is not checked.
  Result<ssh::SessionPointer> session_to(std::size_t at, const std::string& host_key_type = {}) {
    tunnel_.reset();
    const SshStation& station = way_.stations[at];
    int socket = -1;
    if (at > 0) {
      SPARK_TRY(tunnel_, tunnel_to(at));
      socket = tunnel_->take_socket();
    }
    auto session = ssh::open_session(station, options_, host_key_type, socket);
    if (!session) return failure(within(std::move(session).error(), station));
    return session;
  }

  /// A pin names one key, and the node may have several: each key type is tried until the pinned key is found.
  Result<ssh::SessionPointer> trusted_session_to(std::size_t at, OfferedHostKey& host_key) {
    const SshStation& station = way_.stations[at];
    std::vector<std::string> types{""};
    if (!station.host_key.empty()) {
      types = {"ssh-ed25519", "ecdsa-sha2-nistp256,ecdsa-sha2-nistp384,ecdsa-sha2-nistp521",
               "rsa-sha2-512,rsa-sha2-256"};
    }
    Result<ssh::SessionPointer> outcome = failure(ErrorCode::kBug, "no host key type was tried");
    for (const auto& type : types) {
      if (options_.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
      auto session = session_to(at, type);
      if (!session) {
        // A node without a key of this type refuses the negotiation; an earlier mismatch is the better error.
        if (outcome || outcome.error().code == ErrorCode::kBug) outcome = std::move(session);
        if (type.empty() || locked_) return outcome;
        continue;
      }
      auto key = ssh::examine_host_key(session->get(), station);
      if (!key) return failure(within(std::move(key).error(), station));
      auto trusted = ssh::require_trusted(*key, station);
      if (trusted) {
        host_key = *std::move(key);
        return session;
      }
      outcome = failure(within(std::move(trusted).error(), station));
      if (key->standing != OfferedHostKey::Standing::kPinMismatch) break;
    }
    return outcome;
  }

  Result<void> log_in(const ssh::SessionPointer& session, std::size_t at, const OfferedHostKey& host_key) {
    const SshStation& station = way_.stations[at];
    ConnectOptions login = options_;
    // A key that was only just recorded does not prove the node's identity. And no jump host receives a password.
    if (host_key.standing == OfferedHostKey::Standing::kUnknown || station.is_jump_host) login.password = {};
    auto done = ssh::authenticate(session, station, login, locked_);
    if (!done) return failure(within(std::move(done).error(), station));
    return {};
  }

  std::unique_ptr<ssh::JumpTunnel> take_tunnel() { return std::move(tunnel_); }
  const std::optional<ssh::LockedKey>& locked() const { return locked_; }

 private:
  /// A connection to the station through the one before it.
  Result<std::unique_ptr<ssh::JumpTunnel>> tunnel_to(std::size_t at) {
    OfferedHostKey host_key{};
    SPARK_TRY(auto session, trusted_session_to(at - 1, host_key));
    SPARK_CHECK(log_in(session, at - 1, host_key));
    auto outer = std::move(tunnel_);
    return ssh::JumpTunnel::open(std::move(session), std::move(outer), way_.stations[at - 1], way_.stations[at],
                                 options_);
  }

  static Error within(Error error, const SshStation& station) {
    const std::string context = station.context();
    return context.empty() || error.code == ErrorCode::kInterrupted ? std::move(error)
                                                                    : std::move(error).within(context);
  }

  const SshWay& way_;
  const ConnectOptions& options_;
  std::unique_ptr<ssh::JumpTunnel> tunnel_;  ///< Of the last session.
  std::optional<ssh::LockedKey> locked_;
};

/// The error, with the ignored settings that may be its cause.
Error with_ignored(Error error, const SshWay& way) {
  if (error.code == ErrorCode::kInterrupted || error.code == ErrorCode::kBug) return error;
  std::vector<std::string> named;
  for (const IgnoredSetting& one : way.ignored) {
    if (one.matters) named.push_back(one.what + " (" + one.place + ")");
  }
  if (named.empty()) return error;
  error.hint += (error.hint.empty() ? "" : "; ") + std::string("sparkplan ignores ") + join(named, ", ");
  return error;
}

/// Calls `attempt` until no key with a passphrase is in its way that the user can unlock. The question is asked without
/// a connection: no server waits for the user.
template <class Attempt>
auto with_unlocked_keys(const SshWay& way, const ConnectOptions& options, Attempt attempt)
    -> decltype(attempt(std::declval<Approach&>())) {
  constexpr int kMostKeys = 16;
  for (int asked = 0;; ++asked) {
    Approach approach(way, options);
    auto outcome = attempt(approach);
    if (outcome) return outcome;
    if (!approach.locked() || !options.keys || asked == kMostKeys) {
      return failure(with_ignored(std::move(outcome).error(), way));
    }
    SPARK_CHECK(options.keys->unlock(approach.locked()->path, approach.locked()->shown));
  }
}

}  // namespace

Result<SshWay> ssh::way_with(const NodeSpec& node, const ConnectOptions& options) {
  static const SshConfig nothing;
  return way_to(node, options.config ? *options.config : nothing, local_user());
}

Result<OfferedHostKey> offered_host_key(const SshWay& way, std::size_t station, const ConnectOptions& options) {
  return with_unlocked_keys(way, options, [&](Approach& approach) -> Result<OfferedHostKey> {
    SPARK_TRY(const auto session, approach.session_to(station));
    return ssh::examine_host_key(session.get(), way.stations[station]);
  });
}

Result<std::unique_ptr<Connection>> connect_ssh(const NodeSpec& node, const ConnectOptions& options) {
  SPARK_TRY(const SshWay way, ssh::way_with(node, options));
  return with_unlocked_keys(way, options, [&](Approach& approach) -> Result<std::unique_ptr<Connection>> {
    OfferedHostKey host_key{};
    const std::size_t last = way.stations.size() - 1;
    SPARK_TRY(auto session, approach.trusted_session_to(last, host_key));
    SPARK_CHECK(approach.log_in(session, last, host_key));
    if (options.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    notice_loss(session.get());
    auto shared =
        std::make_shared<const SshConnectionParts>(SshConnectionParts{approach.take_tunnel(), std::move(session)});
    return std::make_unique<SshConnection>(std::move(shared), std::move(host_key), way.node().user, options.timeout);
  });
}

}  // namespace sparkplan
