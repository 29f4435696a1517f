#include "engine/remote/ssh_session.h"

#include <poll.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "engine/core/text.h"
#include "engine/process/own_user.h"

namespace sparkplan::ssh {
namespace {

struct KeyDeleter {
  void operator()(ssh_key key) const { ssh_key_free(key); }
};
using KeyPointer = std::unique_ptr<ssh_key_struct, KeyDeleter>;

Error ssh_failure(ErrorCode code, const std::string& what, ssh_session session) {
  return Error{code, what + ": " + printable(ssh_get_error(session)), {}, std::nullopt, ""};
}

/// Many nodes sit behind one fabric; each attempt costs the peer a fork. So the right key first, and
/// no "none" probe.
Result<bool> try_key_file(ssh_session session, const std::string& path, bool required) {
  if (!std::filesystem::exists(path)) {
    if (required) return failure(ErrorCode::kInvalidInput, "there is no identity file " + path);
    return false;
  }
  ssh_key raw = nullptr;
  // An empty passphrase instead of a prompt: an encrypted key is left to ssh-agent.
  const int imported = ssh_pki_import_privkey_file(path.c_str(), "", nullptr, nullptr, &raw);
  const KeyPointer key(raw);
  if (imported != SSH_OK) {
    if (required) {
      return failure(ErrorCode::kInvalidInput, "the identity file " + path + " cannot be used",
                     "a key with a passphrase has to be loaded into ssh-agent, without `ssh.identity`");
    }
    return false;
  }
  const int answer = ssh_userauth_publickey(session, nullptr, key.get());
  if (answer == SSH_AUTH_ERROR) return failure(ssh_failure(ErrorCode::kUnreachable, "log in", session));
  return answer == SSH_AUTH_SUCCESS;
}

Result<void> try_usual_keys(ssh_session session, const NodeSpec& node) {
  if (std::getenv("SSH_AUTH_SOCK") != nullptr) {
    const int answer = ssh_userauth_agent(session, nullptr);
    if (answer == SSH_AUTH_SUCCESS) return {};
  }
  for (const char* name : {"id_ed25519", "id_ecdsa", "id_rsa"}) {
    SPARK_TRY(const bool accepted, try_key_file(session, expand_home(std::string("~/.ssh/") + name), false));
    if (accepted) return {};
  }
  return failure(
      ErrorCode::kPermissionDenied,
      node.ssh.user + "@" + node.address + " " + std::string(kNoKeyAccepted) + " (ssh-agent and ~/.ssh/id_*)",
      "install one with `ssh-copy-id " + node.ssh.user + "@" + node.address + "`, or name it in `ssh.identity`");
}

/// PAM asks a few times at most; who goes on, with no question at all even, would keep us for ever.
constexpr int kMostRounds = 10;
/// How long a wish to stop may wait.
constexpr int kPause = 50;

/// A login by password, which the peer may draw out: each answer of its is waited for, and no longer than all of them
/// may take.
class PasswordLogin {
 public:
  PasswordLogin(ssh_session session, const ConnectOptions& options)
      : session_(session), options_(options), end_(Clock::now() + options.timeout) {
    ssh_set_blocking(session_, 0);
  }
  PasswordLogin(const PasswordLogin&) = delete;
  PasswordLogin& operator=(const PasswordLogin&) = delete;
  ~PasswordLogin() { ssh_set_blocking(session_, 1); }

  /// As sshd asks for it: by itself, or as a conversation of PAM's that wants an answer nobody should see. An answer of
  /// libssh's; SSH_AUTH_AGAIN: the time was over.
  int run() {
    const int plain = await([this] { return ssh_userauth_password(session_, nullptr, options_.password.c_str()); });
    return plain == SSH_AUTH_DENIED ? converse() : plain;
  }

 private:
  using Clock = std::chrono::steady_clock;

  int converse() {
    const auto next = [this] { return ssh_userauth_kbdint(session_, nullptr, nullptr); };
    int answer = await(next);
    bool answered = false;
    for (int round = 0; answer == SSH_AUTH_INFO; ++round) {
      if (round == kMostRounds) return SSH_AUTH_DENIED;
      const int prompts = ssh_userauth_kbdint_getnprompts(session_);
      if (prompts > 0 && std::exchange(answered, true)) return SSH_AUTH_DENIED;  // Asked again: it was wrong.
      for (int i = 0; i < prompts; ++i) {
        char echo = 0;
        ssh_userauth_kbdint_getprompt(session_, static_cast<unsigned int>(i), &echo);
        ssh_userauth_kbdint_setanswer(session_, static_cast<unsigned int>(i),
                                      echo == 0 ? options_.password.c_str() : "");
      }
      answer = await(next);
    }
    return answer;
  }

  template <class Attempt>
  int await(Attempt attempt) {
    int answer = SSH_AUTH_AGAIN;
    while (!options_.stop.stop_requested() && Clock::now() < end_ && (answer = attempt()) == SSH_AUTH_AGAIN) {
      pollfd readable{ssh_get_fd(session_), POLLIN, 0};
      ::poll(&readable, 1, kPause);
    }
    return answer;
  }

  ssh_session session_;
  const ConnectOptions& options_;
  Clock::time_point end_;
};

Result<void> try_password(ssh_session session, const NodeSpec& node, const ConnectOptions& options) {
  const int answer = PasswordLogin(session, options).run();
  if (answer == SSH_AUTH_SUCCESS) return {};
  if (options.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
  if (answer == SSH_AUTH_AGAIN) {
    return failure(ErrorCode::kUnreachable,
                   "log in: " + node.ssh.user + "@" + node.address + " has not decided over the password in time");
  }
  if (answer == SSH_AUTH_ERROR) return failure(ssh_failure(ErrorCode::kUnreachable, "log in", session));
  return failure(ErrorCode::kPermissionDenied,
                 node.ssh.user + "@" + node.address + " accepts neither our keys nor the password");
}

Result<void> try_keys(ssh_session session, const NodeSpec& node) {
  if (node.ssh.identity.empty()) return try_usual_keys(session, node);
  SPARK_TRY(const bool accepted, try_key_file(session, expand_home(node.ssh.identity), true));
  if (accepted) return {};
  return failure(
      ErrorCode::kPermissionDenied,
      node.ssh.user + "@" + node.address + " does not accept the key " + node.ssh.identity,
      "install it with `ssh-copy-id -i " + node.ssh.identity + " " + node.ssh.user + "@" + node.address + "`");
}

std::string strip_padding(std::string text) {
  while (!text.empty() && text.back() == '=') text.pop_back();
  return text;
}

/// known_hosts lines that libssh passes over in silence.
bool revoked_somewhere(const std::string& key_base64) {
  for (const auto& path : {expand_home("~/.ssh/known_hosts"), std::string("/etc/ssh/ssh_known_hosts"),
                           expand_home("~/.ssh/known_hosts2")}) {
    std::error_code ignored;
    const auto size = std::filesystem::file_size(path, ignored);
    if (ignored || size > (std::size_t{16} << 20)) continue;
    std::string text(size, '\0');
    if (FILE* file = std::fopen(path.c_str(), "re")) {
      text.resize(std::fread(text.data(), 1, text.size(), file));
      std::fclose(file);
    }
    if (is_revoked(text, key_base64)) return true;
  }
  return false;
}

OfferedHostKey::Standing standing_of(ssh_session session, const NodeSpec& node, const OfferedHostKey& key) {
  using Standing = OfferedHostKey::Standing;
  if (!node.ssh.host_key.empty()) {
    return strip_padding(node.ssh.host_key) == key.fingerprint ? Standing::kPinned : Standing::kPinMismatch;
  }
  switch (ssh_session_is_known_server(session)) {
    case SSH_KNOWN_HOSTS_OK:
      return Standing::kKnown;
    case SSH_KNOWN_HOSTS_CHANGED:
    case SSH_KNOWN_HOSTS_OTHER:
    case SSH_KNOWN_HOSTS_ERROR:  // A file that cannot be judged by vouches for nobody.
      return Standing::kChanged;
    default:
      return Standing::kUnknown;
  }
}

}  // namespace

void SessionDeleter::operator()(ssh_session session) const {
  ssh_disconnect(session);
  ssh_free(session);
}

void ChannelDeleter::operator()(ssh_channel channel) const { ssh_channel_free(channel); }

std::string expand_home(const std::string& path) {
  if (path != "~" && path.rfind("~/", 0) != 0) return path;
  const char* home = std::getenv("HOME");
  if (home != nullptr && *home != '\0') return home + path.substr(1);
  const auto user = own_user();
  return (user ? user->home : "/") + path.substr(1);
}

Result<SessionPointer> open_session(const NodeSpec& node, std::chrono::milliseconds timeout,
                                    const std::string& host_key_type, int socket) {
  SessionPointer session(ssh_new());
  if (!session) return failure(ErrorCode::kBug, "libssh gave no session");
  const unsigned int port = node.ssh.port;
  const long microseconds = static_cast<long>(timeout.count()) * 1000;
  const long seconds = 0;
  const bool no = false;
  const int yes = 1;
  ssh_options_set(session.get(), SSH_OPTIONS_PROCESS_CONFIG, &no);
  ssh_options_set(session.get(), SSH_OPTIONS_NODELAY, &yes);
  ssh_options_set(session.get(), SSH_OPTIONS_TIMEOUT, &seconds);
  ssh_options_set(session.get(), SSH_OPTIONS_TIMEOUT_USEC, &microseconds);
  if (ssh_options_set(session.get(), SSH_OPTIONS_HOST, node.address.c_str()) != SSH_OK ||
      ssh_options_set(session.get(), SSH_OPTIONS_PORT, &port) != SSH_OK ||
      ssh_options_set(session.get(), SSH_OPTIONS_USER, node.ssh.user.c_str()) != SSH_OK) {
    return failure(ssh_failure(ErrorCode::kInvalidInput, "address " + node.address, session.get()));
  }
  // libssh asks the password database for the home directory; everything here goes by $HOME.
  ssh_options_set(session.get(), SSH_OPTIONS_SSH_DIR, expand_home("~/.ssh").c_str());
  ssh_options_set(session.get(), SSH_OPTIONS_KNOWNHOSTS, expand_home("~/.ssh/known_hosts").c_str());
  if (socket >= 0) ssh_options_set(session.get(), SSH_OPTIONS_FD, &socket);
  if (!host_key_type.empty()) {
    ssh_options_set(session.get(), SSH_OPTIONS_HOSTKEYS, host_key_type.c_str());
  }
  if (ssh_connect(session.get()) != SSH_OK) {
    return failure(ssh_failure(ErrorCode::kUnreachable, "connect to " + node.address + " port " + std::to_string(port),
                               session.get()));
  }
  return session;
}

Result<OfferedHostKey> examine_host_key(ssh_session session, const NodeSpec& node) {
  ssh_key raw = nullptr;
  if (ssh_get_server_publickey(session, &raw) != SSH_OK) {
    return failure(ssh_failure(ErrorCode::kUnreachable, "read the host key", session));
  }
  const KeyPointer key(raw);
  unsigned char* hash = nullptr;
  std::size_t length = 0;
  if (ssh_get_publickey_hash(key.get(), SSH_PUBLICKEY_HASH_SHA256, &hash, &length) != SSH_OK) {
    return failure(ErrorCode::kFailed, "take the fingerprint of the host key");
  }
  char* fingerprint = ssh_get_fingerprint_hash(SSH_PUBLICKEY_HASH_SHA256, hash, length);
  ssh_clean_pubkey_hash(&hash);
  char* base64 = nullptr;
  ssh_pki_export_pubkey_base64(key.get(), &base64);
  OfferedHostKey offered{
      fingerprint != nullptr ? fingerprint : "", ssh_key_type_to_char(ssh_key_type(key.get())), {}, {}};
  const std::string key_base64 = base64 != nullptr ? base64 : "";
  ssh_string_free_char(fingerprint);
  ssh_string_free_char(base64);
  const bool usual_port = node.ssh.port == 22;
  const auto host = usual_port ? node.address : "[" + node.address + "]:" + std::to_string(node.ssh.port);
  offered.known_hosts_line = host + " " + offered.type + " " + key_base64;
  offered.standing =
      revoked_somewhere(key_base64) ? OfferedHostKey::Standing::kRevoked : standing_of(session, node, offered);
  return offered;
}

Result<void> require_trusted(const OfferedHostKey& key, const NodeSpec& node) {
  const auto& name = node.name.str();
  const auto shown = "its " + key.type + " host key is " + key.fingerprint;
  switch (key.standing) {
    case OfferedHostKey::Standing::kKnown:
    case OfferedHostKey::Standing::kPinned:
      return {};
    case OfferedHostKey::Standing::kUnknown:
      if (node.ssh.host_keys == HostKeyPolicy::kAcceptNew) {
        SPARK_CHECK(remember_host_key(key));
        return {};
      }
      return failure(ErrorCode::kUntrusted, "the host key is unknown; " + shown,
                     "compare the fingerprint on the machine itself, then run `sparkplan trust " + name + "`");
    case OfferedHostKey::Standing::kChanged:
      return failure(ErrorCode::kUntrusted, "the host key is not the one in known_hosts; " + shown,
                     "if the machine was installed anew, remove the old key with `ssh-keygen -R " + node.address +
                         "` and run `sparkplan trust " + name + "`");
    case OfferedHostKey::Standing::kPinMismatch:
      return failure(ErrorCode::kUntrusted, "the host key is not the one pinned in the file; " + shown,
                     "if the machine was installed anew, change `host_key` in the file");
    case OfferedHostKey::Standing::kRevoked:
      break;
  }
  return failure(ErrorCode::kUntrusted, "the host key is marked @revoked in known_hosts; " + shown);
}

Result<void> authenticate(ssh_session session, const NodeSpec& node, const ConnectOptions& options) {
  auto by_key = try_keys(session, node);
  if (by_key || options.password.empty() || by_key.error().code != ErrorCode::kPermissionDenied) return by_key;
  return try_password(session, node, options);
}

}  // namespace sparkplan::ssh
