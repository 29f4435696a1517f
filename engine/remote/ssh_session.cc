#include "engine/remote/ssh_session.h"

#include <libssh/server.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/process/own_user.h"

namespace sparkplan::ssh {
namespace {

struct KeyDeleter {
  void operator()(ssh_key key) const { ssh_key_free(key); }
};
using KeyPointer = std::unique_ptr<ssh_key_struct, KeyDeleter>;

Error ssh_failure(ErrorCode code, const std::string& what, ssh_session session) {
  return Error{code, what + ": " + ssh_words(session), {}, std::nullopt, ""};
}

/// PAM prompts a few times at most. More rounds, even without a prompt, could keep the program busy for ever.
constexpr int kMostRounds = 10;
/// The longest delay before a stop request is noticed.
constexpr int kPause = 50;

/// One login attempt. The peer can delay each of its answers, so one deadline limits all of them together.
class Login {
 public:
  Login(const SessionPointer& session, const NodeSpec& node, const ConnectOptions& options)
      : session_(session), node_(node), options_(options), end_(std::chrono::steady_clock::now() + options.timeout) {}

  /// A whole cluster logs in at once, and each attempt costs the peer a fork. So the right key is tried first, without
  /// a "none" probe.
  Result<void> by_keys() {
    if (node_.ssh.identity.empty()) return by_usual_keys();
    SPARK_TRY(const bool accepted, by_key_file(expand_home(node_.ssh.identity), true));
    if (accepted) return {};
    return failure(
        ErrorCode::kPermissionDenied,
        node_.ssh.user + "@" + node_.address + " does not accept the key " + node_.ssh.identity,
        "install it with `ssh-copy-id -i " + node_.ssh.identity + " " + node_.ssh.user + "@" + node_.address + "`");
  }

  /// Both methods of sshd: a plain password, or a PAM conversation with a hidden prompt.
  Result<void> by_password() {
    tried_ = "password";
    const int plain = await([this] { return ssh_userauth_password(session_.get(), nullptr, password()); });
    SPARK_TRY(const bool accepted, judge(plain == SSH_AUTH_DENIED ? converse() : plain));
    if (accepted) return {};
    return failure(ErrorCode::kPermissionDenied,
                   node_.ssh.user + "@" + node_.address + " accepts neither our keys nor the password");
  }

 private:
  Result<bool> by_key_file(const std::string& path, bool required) {
    if (!std::filesystem::exists(path)) {
      if (required) return failure(ErrorCode::kInvalidInput, "there is no identity file " + path);
      return false;
    }
    ssh_key raw = nullptr;
    // An empty passphrase prevents a prompt: an encrypted key is left to ssh-agent.
    const int imported = ssh_pki_import_privkey_file(path.c_str(), "", nullptr, nullptr, &raw);
    const KeyPointer key(raw);
    if (imported != SSH_OK) {
      if (required) {
        return failure(ErrorCode::kInvalidInput, "the identity file " + path + " cannot be used",
                       "a key with a passphrase has to be loaded into ssh-agent, without `ssh.identity`");
      }
      return false;
    }
    return judge(await([&] { return ssh_userauth_publickey(session_.get(), nullptr, key.get()); }));
  }

  Result<void> by_usual_keys() {
    if (std::getenv("SSH_AUTH_SOCK") != nullptr) {
      const int answer = await([this] { return ssh_userauth_agent(session_.get(), nullptr); });
      if (answer == SSH_AUTH_SUCCESS) return {};
      // A stopped ssh-agent is not an error of the node.
      if (answer == SSH_AUTH_AGAIN) SPARK_CHECK(judge(answer));
    }
    for (const char* name : {"id_ed25519", "id_ecdsa", "id_rsa"}) {
      SPARK_TRY(const bool accepted, by_key_file(expand_home(std::string("~/.ssh/") + name), false));
      if (accepted) return {};
    }
    return failure(
        ErrorCode::kPermissionDenied,
        node_.ssh.user + "@" + node_.address + " " + std::string(kNoKeyAccepted) + " (ssh-agent and ~/.ssh/id_*)",
        "install one with `ssh-copy-id " + node_.ssh.user + "@" + node_.address + "`, or name it in `ssh.identity`");
  }

  int converse() {
    const auto next = [this] { return ssh_userauth_kbdint(session_.get(), nullptr, nullptr); };
    int answer = await(next);
    bool answered = false;
    for (int round = 0; answer == SSH_AUTH_INFO; ++round) {
      if (round == kMostRounds) return SSH_AUTH_DENIED;
      const int prompts = ssh_userauth_kbdint_getnprompts(session_.get());
      if (prompts > 0 && std::exchange(answered, true))
        return SSH_AUTH_DENIED;  // A second prompt: the password was wrong.
      for (int i = 0; i < prompts; ++i) {
        char echo = 0;
        ssh_userauth_kbdint_getprompt(session_.get(), static_cast<unsigned int>(i), &echo);
        ssh_userauth_kbdint_setanswer(session_.get(), static_cast<unsigned int>(i), echo == 0 ? password() : "");
      }
      answer = await(next);
    }
    return answer;
  }

  /// True when the node accepts the login.
  Result<bool> judge(int answer) const {
    if (answer == SSH_AUTH_SUCCESS) return true;
    if (options_.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    if (answer == SSH_AUTH_AGAIN) {
      return failure(ErrorCode::kUnreachable, "log in: " + node_.ssh.user + "@" + node_.address +
                                                  " has not decided over the " + tried_ + " in time");
    }
    if (answer == SSH_AUTH_ERROR) return failure(ssh_failure(ErrorCode::kUnreachable, "log in", session_.get()));
    return false;
  }

  /// libssh wipes its own copy. Ends with a NUL.
  const char* password() const { return options_.password.text().data(); }

  int await(const std::function<int()>& attempt) const {
    const int answer = await_answer(session_, end_, options_.stop, [&] {
      const int outcome = attempt();
      return outcome == SSH_AUTH_AGAIN ? SSH_AGAIN : outcome == SSH_AUTH_ERROR ? SSH_ERROR : outcome;
    });
    return answer == SSH_AGAIN ? SSH_AUTH_AGAIN : answer == SSH_ERROR ? SSH_AUTH_ERROR : answer;
  }

  const SessionPointer& session_;
  const NodeSpec& node_;
  const ConnectOptions& options_;
  std::chrono::steady_clock::time_point end_;
  std::string tried_ = "keys";
};

/// Without this callback libssh would store every request.
int refuse_request(ssh_session /*session*/, ssh_message /*request*/, void* watch) {
  ++static_cast<SessionWatch*>(watch)->requests;
  return 1;
}

std::string strip_padding(std::string text) {
  while (!text.empty() && text.back() == '=') text.pop_back();
  return text;
}

/// Checks the known_hosts lines that libssh skips without a message.
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
    case SSH_KNOWN_HOSTS_ERROR:  // An unreadable file proves no identity.
      return Standing::kChanged;
    default:
      return Standing::kUnknown;
  }
}

}  // namespace

bool SessionWatch::floods() const {
  constexpr std::uint64_t kMostRequests = 1000;
  // Room for packet headers and for the server's own messages.
  constexpr std::uint64_t kSpare = std::uint64_t{16} << 20;
  return requests > kMostRequests || packets.in_bytes > payload + payload / 2 + kSpare;
}

int await_answer(const SessionPointer& session, std::chrono::steady_clock::time_point end, const std::stop_token& stop,
                 const std::function<int()>& attempt) {
  int answer = SSH_AGAIN;
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < end && (answer = attempt()) == SSH_AGAIN) {
    if (session.get_deleter().watch->floods()) return SSH_ERROR;
    const bool unsent = (ssh_get_poll_flags(session.get()) & SSH_WRITE_PENDING) != 0;
    const short events = unsent ? POLLIN | POLLOUT : POLLIN;
    const int descriptor = ssh_get_fd(session.get());
    // sshd's next packet may wait for our acknowledgement, which a kernel may delay by 40 ms: until its first exec,
    // sshd runs without TCP_NODELAY. Through a jump host the socket is a local one, and this has no effect.
    const int on = 1;
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_QUICKACK, &on, sizeof on);
    pollfd waiting{descriptor, events, 0};
    ::poll(&waiting, 1, kPause);
  }
  return answer;
}

std::string ssh_words(ssh_session session) { return shown_text(ssh_get_error(session)); }

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
  const auto watch = std::make_shared<SessionWatch>();
  SessionPointer session(ssh_new(), SessionDeleter{watch});
  if (!session) return failure(ErrorCode::kBug, "libssh gave no session");
  const unsigned int port = node.ssh.port;
  const long microseconds = static_cast<long>(timeout.count()) * 1000;
  const long seconds = 0;
  const bool no = false;
  const int yes = 1;
  ssh_options_set(session.get(), SSH_OPTIONS_PROCESS_CONFIG, &no);
  ssh_options_set(session.get(), SSH_OPTIONS_NODELAY, &yes);
  ssh_options_set(session.get(), SSH_OPTIONS_COMPRESSION, "no");  // Without compression, a few bytes from a peer cannot
                                                                  // expand to many.
  ssh_options_set(session.get(), SSH_OPTIONS_TIMEOUT, &seconds);
  ssh_options_set(session.get(), SSH_OPTIONS_TIMEOUT_USEC, &microseconds);
  if (ssh_options_set(session.get(), SSH_OPTIONS_HOST, node.address.c_str()) != SSH_OK ||
      ssh_options_set(session.get(), SSH_OPTIONS_PORT, &port) != SSH_OK ||
      ssh_options_set(session.get(), SSH_OPTIONS_USER, node.ssh.user.c_str()) != SSH_OK) {
    return failure(ssh_failure(ErrorCode::kInvalidInput, "address " + node.address, session.get()));
  }
  // libssh would take the home directory from the password database; this program always uses $HOME.
  ssh_options_set(session.get(), SSH_OPTIONS_SSH_DIR, expand_home("~/.ssh").c_str());
  ssh_options_set(session.get(), SSH_OPTIONS_KNOWNHOSTS, expand_home("~/.ssh/known_hosts").c_str());
  if (socket >= 0) ssh_options_set(session.get(), SSH_OPTIONS_FD, &socket);
  if (!host_key_type.empty()) {
    ssh_options_set(session.get(), SSH_OPTIONS_HOSTKEYS, host_key_type.c_str());
  }
  ssh_set_counters(session.get(), nullptr, &watch->packets);
  ssh_set_message_callback(session.get(), refuse_request, watch.get());
  if (ssh_connect(session.get()) != SSH_OK) {
    return failure(ssh_failure(ErrorCode::kUnreachable, "connect to " + node.address + " port " + std::to_string(port),
                               session.get()));
  }
  ssh_set_blocking(session.get(), 0);
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

Result<void> authenticate(const SessionPointer& session, const NodeSpec& node, const ConnectOptions& options) {
  auto by_keys = Login(session, node, options).by_keys();
  if (by_keys || options.password.empty() || by_keys.error().code != ErrorCode::kPermissionDenied) return by_keys;
  return Login(session, node, options).by_password();
}

}  // namespace sparkplan::ssh
