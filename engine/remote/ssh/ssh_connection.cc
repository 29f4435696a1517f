#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <utility>

#include "engine/core/text.h"
#include "engine/remote/config/ssh_config_files.h"
#include "engine/remote/ssh/channel_pointer.h"
#include "engine/remote/ssh/jump_tunnel.h"
#include "engine/remote/ssh/ssh_channel.h"
#include "engine/remote/ssh/ssh_connection.h"
#include "engine/remote/ssh/ssh_session.h"
#include "engine/remote/transport/remote_commands.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

// A node that loses power sends no message, and a step may take minutes. So only probes of the connection itself find
// out in time. Half a minute is longer than the reconfiguration of a network.
constexpr int kIdleBeforeProbe = 15;  // Seconds.
constexpr int kProbeInterval = 5;     // Seconds.
constexpr int kLostProbes = 3;
constexpr unsigned int kLostData = 30'000;  // Milliseconds without an acknowledgement.

/// The numeric address of the peer of an IP socket; empty for another one, such as the local end of a tunnel.
std::string address_of_peer(int descriptor) {
  sockaddr_storage peer{};
  socklen_t size = sizeof peer;
  auto* const address = reinterpret_cast<sockaddr*>(&peer);
  if (::getpeername(descriptor, address, &size) != 0) return "";
  if (peer.ss_family != AF_INET && peer.ss_family != AF_INET6) return "";
  std::array<char, NI_MAXHOST> text{};
  const int outcome = ::getnameinfo(address, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST);
  return outcome == 0 ? text.data() : "";
}

class SshConnection final : public Connection {
 public:
  SshConnection(std::shared_ptr<const SshConnectionParts> way, std::string host_key, bool host_key_is_new,
                std::string user, std::chrono::milliseconds timeout)
      : way_(std::move(way)),
        host_key_(std::move(host_key)),
        host_key_is_new_(host_key_is_new),
        user_(std::move(user)),
        timeout_(timeout) {}

  Result<std::unique_ptr<Channel>> start(RemoteProgram program, Elevation elevation) override {
    const auto end = Clock::now() + timeout_;
    const auto& session = way_->session;
    ssh::ChannelPointer channel = ssh::new_channel(session);
    const auto open = [&] { return ssh_channel_open_session(channel.get()); };
    if (!channel || ssh::await_channel(session, end, way_->write_stop, open) != SSH_OK)
      return failure(refused("open a channel"));
    const auto command = remote_command(program, elevation);
    const auto begin = [&] { return ssh_channel_request_exec(channel.get(), command.c_str()); };
    if (ssh::await_answer(session, end, way_->write_stop, begin) != SSH_OK) return failure(refused("start a program"));
    return ssh_channel_over(way_, std::move(channel));
  }

  std::string host_key() const override { return host_key_; }
  std::string user() const override { return user_; }
  std::string peer_address() const override { return address_of_peer(ssh_get_fd(way_->session.get())); }
  bool host_key_is_new() const override { return host_key_is_new_; }

 private:
  Error refused(const std::string& what) const {
    // libssh has no error text for a timeout.
    const std::string reason = ssh::reason_of(way_->session);
    return make_error(ErrorCode::kUnreachable, what + ": " + (reason.empty() ? "no answer in time" : reason));
  }

  std::shared_ptr<const SshConnectionParts> way_;
  std::string host_key_;
  bool host_key_is_new_;
  std::string user_;
  std::chrono::milliseconds timeout_;
};

/// Also of a jump host's session: its tunnel would otherwise wait for ever.
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
    notice_loss(session->get());
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
      auto trusted = ssh::require_trusted(*key, station, *options_.recorded);
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
    // A key that this run has recorded does not prove the node's identity. And no jump host receives a password.
    if (options_.recorded->contains(host_key.known_hosts_line) || station.is_jump_host) login.password = {};
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

/// The node, as UnlockedKeys knows it. Two nodes that `init` reads may have one name.
std::string place_of(const SshWay& way) { return way.node().node + " " + way.node().known_name(); }

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
    const auto& locked = approach.locked();
    if (locked && options.keys && options.keys->was_connected_to(place_of(way))) {
      Error error = std::move(outcome).error();
      error.hint = "sparkplan asks for a passphrase only until it has connected to the node once; " + error.hint;
      return failure(std::move(error));
    }
    if (!locked || !options.keys || asked == kMostKeys) {
      return failure(with_ignored(std::move(outcome).error(), way));
    }
    SPARK_CHECK(options.keys->unlock(locked->path, locked->shown, locked->server));
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
    if (options.keys) options.keys->connected_to(place_of(way));
    auto shared = std::make_shared<const SshConnectionParts>(
        SshConnectionParts{approach.take_tunnel(), std::move(session), options.unread->of(node.name.str()),
                           options.most_unread, options.stop_ends_writes ? options.stop : std::stop_token()});
    const bool is_new = options.recorded->contains(host_key.known_hosts_line);
    return std::make_unique<SshConnection>(std::move(shared), host_key.fingerprint, is_new, way.node().user,
                                           options.timeout);
  });
}

}  // namespace sparkplan
