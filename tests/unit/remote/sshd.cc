#include "tests/unit/remote/sshd.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

#include "engine/remote/ssh/ssh_connection.h"
#include "tests/support/catch.h"

namespace sparkplan::test {
namespace {

/// A listening socket on the loopback interface, and its port.
int listen_somewhere(std::uint16_t& port) {
  const int listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  REQUIRE(::bind(listener, reinterpret_cast<sockaddr*>(&address), size) == 0);
  REQUIRE(::listen(listener, 1) == 0);
  REQUIRE(::getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size) == 0);
  port = ntohs(address.sin_port);
  return listener;
}

NodeSpec node_at(std::uint16_t port) {
  NodeSpec node{*NodeName::parse("spark-01"), 1, {}, {}, {}, {}, {}, {}, {}, {}};
  node.address = "127.0.0.1";
  node.ssh.user = "nvidia";
  node.ssh.port = port;
  return node;
}

/// A client may also ask whether the key would be accepted.
bool proves_key(ssh_message message) {
#pragma GCC diagnostic push
// libssh deprecates all of its server without callbacks; its other functions have no such mark.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  return ssh_message_auth_publickey_state(message) == SSH_PUBLICKEY_STATE_VALID;
#pragma GCC diagnostic pop
}

}  // namespace

void ask_for_password(ssh_message message, unsigned int questions) {
  const char* prompts[] = {"Password: "};
  char echo[] = {0};
  ssh_message_auth_interactive_request(message, "", "", questions, prompts, echo);
}

void ask_as_pam_does(ssh_session session, ssh_message message) {
  if (!ssh_message_auth_kbdint_is_response(message)) return ask_for_password(message, 1);
  const char* given = ssh_userauth_kbdint_getanswer(session, 0);
  if (given != nullptr && std::string(given) == kSshdPassword) {
    ssh_message_auth_reply_success(message, 0);
  } else {
    ask_for_password(message, 1);
  }
}

void serve_programs(ssh_session /*session*/, ssh_message message) {
  if (ssh_message_type(message) == SSH_REQUEST_CHANNEL_OPEN) {
    ssh_message_channel_request_open_reply_accept(message);
  } else if (ssh_message_type(message) == SSH_REQUEST_CHANNEL) {
    ssh_message_channel_request_reply_success(message);
  }
}

void write_private_key(const std::string& path, const char* passphrase) {
  ssh_key key = nullptr;
  REQUIRE(ssh_pki_generate(SSH_KEYTYPE_ED25519, 0, &key) == SSH_OK);
  REQUIRE(ssh_pki_export_privkey_file(key, passphrase, nullptr, nullptr, path.c_str()) == SSH_OK);
  ssh_key_free(key);
}

Sshd::Sshd(OnMessage conversation, OnMessage after_login, ClientKeys keys)
    : conversation_(std::move(conversation)), after_login_(std::move(after_login)), keys_(keys), bind_(ssh_bind_new()) {
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
  listener_ = listen_somewhere(port_);
  thread_ = std::jthread([this] {
    for (int connection = 0; (connection = ::accept(listener_, nullptr, nullptr)) >= 0;) serve(connection);
  });
}

Sshd::~Sshd() {
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
  ssh_bind_free(bind_);
}

Result<std::unique_ptr<Connection>> Sshd::log_in(const std::string& password, std::chrono::milliseconds timeout,
                                                 const std::stop_token& stop) const {
  auto secret = Secret::copy_of(password);
  REQUIRE(secret);
  return connect_to({timeout, stop, *secret});
}

Result<std::unique_ptr<Connection>> Sshd::log_in(ConnectOptions options) const {
  auto secret = Secret::copy_of(kSshdPassword);
  REQUIRE(secret);
  options.password = *secret;
  return connect_to(options);
}

std::string Sshd::node_name() { return node_at(0).name.str(); }

NodeSpec Sshd::node() const {
  auto node = node_at(port_);
  node.ssh.host_key = fingerprint_;
  return node;
}

Result<std::unique_ptr<Connection>> Sshd::connect_to(const ConnectOptions& options) const {
  return connect_ssh(node(), options);
}

void Sshd::serve(int connection) {
  const ssh_session session = ssh_new();
  if (ssh_bind_accept_fd(bind_, session, connection) == SSH_OK && ssh_handle_key_exchange(session) == SSH_OK) {
    // After its own disconnect the session would wait for ever.
    while (ssh_is_connected(session) != 0) {
      const ssh_message message = ssh_message_get(session);
      if (message == nullptr) break;
      answer(session, message);
      ssh_message_free(message);
    }
  }
  ssh_disconnect(session);
  ssh_free(session);
}

void Sshd::answer(ssh_session session, ssh_message message) {
  const int type = ssh_message_type(message);
  if (type == SSH_REQUEST_SERVICE) {
    ssh_message_service_reply_success(message);
  } else if (type != SSH_REQUEST_AUTH) {
    after_login_(session, message);
  } else if (ssh_message_subtype(message) == SSH_AUTH_METHOD_INTERACTIVE) {
    conversation_(session, message);
  } else if (ssh_message_subtype(message) == SSH_AUTH_METHOD_PUBLICKEY && keys_ == ClientKeys::kAccepted) {
    proves_key(message) ? ssh_message_auth_reply_success(message, 0) : ssh_message_auth_reply_pk_ok_simple(message);
  } else {
    ssh_message_auth_set_methods(message, SSH_AUTH_METHOD_INTERACTIVE);
    ssh_message_reply_default(message);
  }
}

ConnectOptions with_password() {
  auto secret = Secret::copy_of(kSshdPassword);
  REQUIRE(secret);
  ConnectOptions options;
  options.timeout = std::chrono::seconds(10);
  options.password = *secret;
  return options;
}

SshStation station_of(const NodeSpec& node) {
  auto way = ssh::way_with(node, {});
  REQUIRE(way);
  return way->node();
}

ssh::SessionPointer logged_in_on(const NodeSpec& node) {
  const auto options = with_password();
  const auto station = station_of(node);
  auto session = ssh::open_session(station, options);
  REQUIRE(session);
  std::optional<ssh::LockedKey> locked;
  REQUIRE(ssh::authenticate(*session, station, options, locked));
  return *std::move(session);
}

std::unique_ptr<ssh::JumpTunnel> tunnel_over(ssh::SessionPointer session, const NodeSpec& jump_host) {
  NodeSpec behind = jump_host;
  behind.address = "10.0.0.12";
  auto tunnel =
      ssh::JumpTunnel::open(std::move(session), nullptr, station_of(jump_host), station_of(behind), with_password());
  REQUIRE(tunnel);
  return *std::move(tunnel);
}

RawServer::RawServer(std::function<void(int socket, const std::stop_token& stop)> serve) {
  listener_ = listen_somewhere(port_);
  thread_ = std::jthread([this, serve = std::move(serve)](const std::stop_token& stop) {
    const int connection = ::accept(listener_, nullptr, nullptr);
    if (connection < 0) return;
    serve(connection, stop);
    ::close(connection);
  });
}

RawServer::~RawServer() {
  thread_.request_stop();
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

NodeSpec RawServer::node() const { return node_at(port_); }

}  // namespace sparkplan::test
