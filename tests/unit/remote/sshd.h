#pragma once

#include <libssh/libssh.h>
#include <libssh/server.h>
#include <stdlib.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "engine/remote/config/ssh_way.h"
#include "engine/remote/ssh/jump_tunnel.h"
#include "engine/remote/ssh/ssh_session.h"
#include "engine/remote/transport/transport.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::test {

inline constexpr const char* kSshdPassword = "correct horse";

/// A home without keys, and no ssh-agent, for the lifetime of this object.
class HomeWithoutKeys {
 public:
  HomeWithoutKeys() {
    ::setenv("HOME", root_.path().c_str(), 1);
    ::unsetenv("SSH_AUTH_SOCK");
  }
  HomeWithoutKeys(const HomeWithoutKeys&) = delete;
  HomeWithoutKeys& operator=(const HomeWithoutKeys&) = delete;
  ~HomeWithoutKeys() {
    restore("HOME", home_);
    restore("SSH_AUTH_SOCK", agent_);
  }

 private:
  static std::optional<std::string> value_of(const char* name) {
    const char* value = ::getenv(name);
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  }
  static void restore(const char* name, const std::optional<std::string>& value) {
    value ? ::setenv(name, value->c_str(), 1) : ::unsetenv(name);
  }

  ScratchDirectory root_;
  std::optional<std::string> home_ = value_of("HOME");
  std::optional<std::string> agent_ = value_of("SSH_AUTH_SOCK");
};

/// An sshd's answer to a message from its client.
using OnMessage = std::function<void(ssh_session session, ssh_message message)>;

/// As PAM does: one question, then the check of the answer.
void ask_as_pam_does(ssh_session session, ssh_message message);
/// Asks for this number of passwords; 0 asks for none.
void ask_for_password(ssh_message message, unsigned int questions);
/// Lets its client open a channel and start a program that sends nothing.
void serve_programs(ssh_session session, ssh_message message);

/// Whether a server accepts all private keys, or none.
enum class ClientKeys : bool { kRefused, kAccepted };

/// Writes a private key to `path`, as ssh-keygen does. Null: without a passphrase.
void write_private_key(const std::string& path, const char* passphrase);

/// The test's own sshd, on the loopback interface. Serves one connection after the other.
class Sshd {
 public:
  /// `conversation` handles PAM's questions and answers, without plain password authentication. `after_login` handles
  /// all later messages.
  explicit Sshd(OnMessage conversation, OnMessage after_login = serve_programs, ClientKeys keys = ClientKeys::kRefused);
  Sshd(const Sshd&) = delete;
  Sshd& operator=(const Sshd&) = delete;
  ~Sshd();

  /// The result of a login with that password.
  Result<std::unique_ptr<Connection>> log_in(const std::string& password, std::chrono::milliseconds timeout,
                                             const std::stop_token& stop = {}) const;
  /// The result of a login with kSshdPassword.
  Result<std::unique_ptr<Connection>> log_in(ConnectOptions options) const;
  /// The one to which log_in() connects, with its host key. All of these servers are one node.
  NodeSpec node() const;
  static std::string node_name();

 private:
  void serve(int connection);
  void answer(ssh_session session, ssh_message message);
  Result<std::unique_ptr<Connection>> connect_to(const ConnectOptions& options) const;

  OnMessage conversation_;
  OnMessage after_login_;
  ClientKeys keys_;
  ssh_bind bind_;
  std::string fingerprint_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

/// For a login with kSshdPassword, within ten seconds.
ConnectOptions with_password();
/// The node as the last station of its way.
SshStation station_of(const NodeSpec& node);
/// A session that can open channels.
ssh::SessionPointer logged_in_on(const NodeSpec& node);
/// A tunnel through the jump host to a node behind it. `session` is logged in on the jump host.
std::unique_ptr<ssh::JumpTunnel> tunnel_over(ssh::SessionPointer session, const NodeSpec& jump_host);

/// A listening socket on the loopback interface; `serve` handles its first connection.
class RawServer {
 public:
  /// `serve` receives the connected socket, and a token that ends it.
  explicit RawServer(std::function<void(int socket, const std::stop_token& stop)> serve);
  RawServer(const RawServer&) = delete;
  RawServer& operator=(const RawServer&) = delete;
  ~RawServer();

  NodeSpec node() const;

 private:
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

}  // namespace sparkplan::test
