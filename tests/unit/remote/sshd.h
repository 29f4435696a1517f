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

#include "engine/remote/transport.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan::test {

inline constexpr const char* kSshdPassword = "correct horse";

/// A home without keys, and no ssh-agent, for as long as this lives.
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

/// What an sshd does about a message of its client's.
using OnMessage = std::function<void(ssh_session session, ssh_message message)>;

/// As PAM does: one question, and a look at the answer.
void ask_as_pam_does(ssh_session session, ssh_message message);
/// Asks for so many passwords, and for none with 0.
void ask_for_password(ssh_message message, unsigned int questions);
/// Lets its client open a channel and start a program, of which it says nothing further.
void serve_programs(ssh_session session, ssh_message message);

/// An sshd of the test's own, on the loopback interface. Serves one connection.
class Sshd {
 public:
  /// `conversation` is about questions and answers of PAM's (it takes no plain password), `after_login` about all that
  /// comes later.
  explicit Sshd(OnMessage conversation, OnMessage after_login = serve_programs);
  Sshd(const Sshd&) = delete;
  Sshd& operator=(const Sshd&) = delete;
  ~Sshd();

  /// What becomes of a login with that password.
  Result<std::unique_ptr<Connection>> log_in(const std::string& password, std::chrono::milliseconds timeout,
                                             const std::stop_token& stop = {}) const;

 private:
  void serve();
  void answer(ssh_session session, ssh_message message);

  OnMessage conversation_;
  OnMessage after_login_;
  ssh_bind bind_;
  std::string fingerprint_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

/// The address of a listening socket on the loopback interface, and what happens to whoever connects there first.
class RawServer {
 public:
  /// `serve` gets the connected socket, and a token of when to end.
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
