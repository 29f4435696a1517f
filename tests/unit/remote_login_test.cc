// Logging in by password to an sshd of this test's own, of which some are slow and some are hostile.
#include <arpa/inet.h>
#include <libssh/server.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "engine/remote/transport.h"
#include "tests/support/catch.h"
#include "tests/unit/agent_scratch.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;

constexpr const char* kPassword = "correct horse";

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

/// What an sshd does about questions and answers of PAM's; it takes no plain password.
using Conversation = std::function<void(ssh_session session, ssh_message message)>;

void ask(ssh_message message, unsigned int questions) {
  const char* prompts[] = {"Password: "};
  char echo[] = {0};
  ssh_message_auth_interactive_request(message, "", "", questions, prompts, echo);
}

/// Serves one connection.
class Sshd {
 public:
  explicit Sshd(Conversation conversation) : conversation_(std::move(conversation)), bind_(ssh_bind_new()) {
    ssh_key key = nullptr;
    REQUIRE(ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key) == SSH_OK);
    unsigned char* hash = nullptr;
    std::size_t length = 0;
    REQUIRE(ssh_get_publickey_hash(key, SSH_PUBLICKEY_HASH_SHA256, &hash, &length) == SSH_OK);
    char* text = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, length);
    fingerprint_ = text;
    ssh_string_free_char(text);
    ssh_clean_pubkey_hash(&hash);
    REQUIRE(ssh_bind_options_set(bind_, SSH_BIND_OPTIONS_IMPORT_KEY, key) == SSH_OK);
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    REQUIRE(::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) == 0);
    REQUIRE(::listen(listener_, 1) == 0);
    REQUIRE(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) == 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::jthread([this] { serve(); });
  }
  Sshd(const Sshd&) = delete;
  Sshd& operator=(const Sshd&) = delete;
  ~Sshd() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
    ssh_bind_free(bind_);
  }

  /// What becomes of a login with that password.
  Result<std::unique_ptr<Connection>> log_in(const std::string& password, std::chrono::milliseconds timeout,
                                             const std::stop_token& stop = {}) const {
    NodeSpec node{*NodeName::parse("spark-01"), 1, {}, {}, {}, {}, {}, {}, {}, {}};
    node.address = "127.0.0.1";
    node.ssh.user = "nvidia";
    node.ssh.port = port_;
    node.ssh.host_key = fingerprint_;
    return connect_ssh(node, {timeout, stop, password});
  }

 private:
  void serve() {
    const int connection = ::accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    const ssh_session session = ssh_new();
    if (ssh_bind_accept_fd(bind_, session, connection) == SSH_OK && ssh_handle_key_exchange(session) == SSH_OK) {
      while (const ssh_message message = ssh_message_get(session)) {
        answer(session, message);
        ssh_message_free(message);
      }
    }
    ssh_disconnect(session);
    ssh_free(session);
  }

  void answer(ssh_session session, ssh_message message) {
    const int type = ssh_message_type(message);
    if (type == SSH_REQUEST_SERVICE) {
      ssh_message_service_reply_success(message);
    } else if (type == SSH_REQUEST_AUTH && ssh_message_subtype(message) == SSH_AUTH_METHOD_INTERACTIVE) {
      conversation_(session, message);
    } else {
      ssh_message_auth_set_methods(message, SSH_AUTH_METHOD_INTERACTIVE);
      ssh_message_reply_default(message);
    }
  }

  Conversation conversation_;
  ssh_bind bind_;
  std::string fingerprint_;
  int listener_ = -1;
  std::uint16_t port_ = 0;
  std::jthread thread_;
};

/// As PAM does: one question, and a look at the answer.
void ask_as_pam_does(ssh_session session, ssh_message message) {
  if (!ssh_message_auth_kbdint_is_response(message)) return ask(message, 1);
  const char* given = ssh_userauth_kbdint_getanswer(session, 0);
  if (given != nullptr && std::string(given) == kPassword) {
    ssh_message_auth_reply_success(message, 0);
  } else {
    ask(message, 1);
  }
}

constexpr std::chrono::seconds kLong{60};
/// Enough to agree on keys with a busy machine.
constexpr std::chrono::seconds kShort{3};

}  // namespace

TEST_CASE("login: a password is given to who asks for it, once") {
  const HomeWithoutKeys home;
  CHECK(Sshd(ask_as_pam_does).log_in(kPassword, kLong));
  const auto refused = Sshd(ask_as_pam_does).log_in("wrong", kLong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kPermissionDenied);
}

TEST_CASE("login: who asks for nothing, again and again, is left") {
  const HomeWithoutKeys home;
  const auto refused = Sshd([](ssh_session, ssh_message message) { ask(message, 0); }).log_in(kPassword, kLong);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().code == ErrorCode::kPermissionDenied);
}

TEST_CASE("login: who never decides over a password is left when the time to connect is over") {
  const HomeWithoutKeys home;
  const auto late = Sshd([](ssh_session, ssh_message) {}).log_in(kPassword, kShort);
  REQUIRE_FALSE(late);
  CHECK(late.error().code == ErrorCode::kUnreachable);
  CHECK(late.error().message == "log in: nvidia@127.0.0.1 has not decided over the password in time");
}

TEST_CASE("login: a wish to stop is heard while nobody answers") {
  const HomeWithoutKeys home;
  std::stop_source stop;
  const Sshd silent([&](ssh_session, ssh_message) { stop.request_stop(); });
  const auto stopped = silent.log_in(kPassword, kLong, stop.get_token());
  REQUIRE_FALSE(stopped);
  CHECK(stopped.error().code == ErrorCode::kInterrupted);
}

}  // namespace sparkplan
