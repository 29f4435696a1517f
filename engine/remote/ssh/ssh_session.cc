#include "engine/remote/ssh/ssh_session.h"

#include <fcntl.h>
#include <libssh/server.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/text.h"
#include "engine/process/own_user.h"
#include "engine/remote/keys/ssh_key_pointer.h"
#include "engine/remote/ssh/known_hosts.h"
#include "engine/remote/ssh/tcp_connect.h"

namespace sparkplan::ssh {
namespace {

/// The longest delay before a stop request is noticed.
constexpr int kPause = 50;

/// Without this callback libssh would store every request.
int refuse_request(ssh_session /*session*/, ssh_message /*request*/, void* watch) {
  ++static_cast<SessionWatch*>(watch)->requests;
  return 1;
}

std::string strip_padding(std::string text) {
  while (!text.empty() && text.back() == '=') text.pop_back();
  return text;
}

OfferedHostKey::Standing standing_of(const SshStation& station, const OfferedHostKey& key) {
  using Standing = OfferedHostKey::Standing;
  if (!station.host_key.empty()) {
    return strip_padding(station.host_key) == key.fingerprint ? Standing::kPinned : Standing::kPinMismatch;
  }
  if (key.known.empty()) return Standing::kUnknown;
  const bool is_known = std::any_of(key.known.begin(), key.known.end(),
                                    [&](const KnownHostKey& known) { return known.fingerprint == key.fingerprint; });
  return is_known ? Standing::kKnown : Standing::kChanged;
}

/// libssh prefers the key types that this file has for the host.
void choose_known_hosts(ssh_session session, const SshStation& station) {
  for (const std::string& file : station.known_hosts) {
    ssh_options_set(session, SSH_OPTIONS_KNOWNHOSTS, file.c_str());
    if (ssh_session_has_known_hosts_entry(session) == SSH_KNOWN_HOSTS_OK) return;
  }
  const char* const first = station.known_hosts.empty() ? "/dev/null" : station.known_hosts.front().c_str();
  ssh_options_set(session, SSH_OPTIONS_KNOWNHOSTS, first);
}

Result<void> set_options(ssh_session session, const SshStation& station) {
  const bool no = false;
  const int yes = 1;
  ssh_options_set(session, SSH_OPTIONS_PROCESS_CONFIG, &no);
  ssh_options_set(session, SSH_OPTIONS_NODELAY, &yes);
  // Without compression, a few bytes from a peer cannot expand to many.
  ssh_options_set(session, SSH_OPTIONS_COMPRESSION, "no");
  // The connection exists, so libssh uses host and port only to find the host in known_hosts.
  const std::string& name = station.host_key_alias.empty() ? station.address : station.host_key_alias;
  const unsigned int port = station.host_key_alias.empty() ? station.port : 22;
  if (ssh_options_set(session, SSH_OPTIONS_HOST, name.c_str()) != SSH_OK ||
      ssh_options_set(session, SSH_OPTIONS_PORT, &port) != SSH_OK) {
    return failure(ssh_failure(ErrorCode::kInvalidInput, "address " + printable(name), session));
  }
  if (ssh_options_set(session, SSH_OPTIONS_USER, station.user.c_str()) != SSH_OK) {
    return failure(ssh_failure(ErrorCode::kInvalidInput, "user " + printable(station.user), session));
  }
  // libssh would take the home directory from the password database; this program always uses $HOME.
  ssh_options_set(session, SSH_OPTIONS_SSH_DIR, expand_home("~/.ssh").c_str());
  choose_known_hosts(session, station);
  return {};
}

/// libssh makes a socket that it is given block. It then sends all that it holds in one call, which a peer that reads
/// nothing would hold for ever. It does so in its first round, and sends only its banner there. In all later rounds it
/// sends when poll(2) says so, and keeps what a socket that does not block leaves over.
int connect_without_waiting(ssh_session session) {
  const int answer = ssh_connect(session);
  const int socket = ssh_get_fd(session);
  if (socket >= 0) ::fcntl(socket, F_SETFL, ::fcntl(socket, F_GETFL) | O_NONBLOCK);
  return answer;
}

Error not_connected(const SshStation& station, const SessionPointer& session, int outcome) {
  const std::string port = std::to_string(station.port);
  const std::string reason = outcome == SSH_AGAIN ? "no answer in time" : reason_of(session);
  return Error{ErrorCode::kUnreachable,
               "connect to " + printable(station.address) + " port " + port + ": " + reason,
               {},
               std::nullopt,
               "is it an sshd that answers there? try `ssh -v -p " + port + " " + printable(station.address) + "`"};
}

}  // namespace

int await_answer(const SessionPointer& session, std::chrono::steady_clock::time_point end, const std::stop_token& stop,
                 const std::function<int()>& attempt) {
  SessionWatch& watch = *session.get_deleter().watch;
  const ConfirmationListener listener(watch);
  int answer = SSH_AGAIN;
  while (!stop.stop_requested() && std::chrono::steady_clock::now() < end && (answer = attempt()) == SSH_AGAIN) {
    if (watch.floods(session.get())) return SSH_ERROR;
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

std::string reason_of(const SessionPointer& session) {
  const SessionWatch& watch = *session.get_deleter().watch;
  if (watch.confirms_wrongly) return std::string(kConfirmsWrongly);
  return watch.flooded ? std::string(kUnrequested) : ssh_words(session.get());
}

Error ssh_failure(ErrorCode code, const std::string& what, ssh_session session) {
  return Error{code, what + ": " + ssh_words(session), {}, std::nullopt, ""};
}

void SessionDeleter::operator()(ssh_session session) const {
  ssh_disconnect(session);
  ssh_free(session);
}

Result<SessionPointer> open_session(const SshStation& station, const ConnectOptions& options,
                                    const std::string& host_key_type, int socket) {
  const auto end = std::chrono::steady_clock::now() + options.timeout;
  if (socket < 0) {
    SPARK_TRY(socket, connect_tcp(station.address, station.port, end, options.stop, station.unknown_name_hint()));
  }
  const auto watch = std::make_shared<SessionWatch>();
  SessionPointer session(ssh_new(), SessionDeleter{watch});
  auto ready =
      session ? set_options(session.get(), station) : Result<void>(failure(ErrorCode::kBug, "libssh gave no session"));
  if (!ready) {
    ::close(socket);
    return failure(std::move(ready).error());
  }
  ssh_options_set(session.get(), SSH_OPTIONS_FD, &socket);  // From here on it is libssh's.
  if (!host_key_type.empty()) {
    ssh_options_set(session.get(), SSH_OPTIONS_HOSTKEYS, host_key_type.c_str());
  }
  ssh_set_counters(session.get(), nullptr, &watch->packets);
  ssh_set_message_callback(session.get(), refuse_request, watch.get());
  ssh_set_blocking(session.get(), 0);
  const auto attempt = [&] { return connect_without_waiting(session.get()); };
  int connected = attempt();  // Even if the time is over: only then does libssh close the socket.
  if (connected == SSH_AGAIN) connected = await_answer(session, end, options.stop, attempt);
  std::optional<Error> error;
  if (connected != SSH_OK) error = not_connected(station, session, connected);
  // A session that was given its socket would not say goodbye and close it: ssh_disconnect() leaves that to the giver.
  const int none = -1;
  ssh_options_set(session.get(), SSH_OPTIONS_FD, &none);
  if (options.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
  if (error) return failure(*std::move(error));
  return session;
}

Result<OfferedHostKey> examine_host_key(ssh_session session, const SshStation& station) {
  ssh_key raw = nullptr;
  if (ssh_get_server_publickey(session, &raw) != SSH_OK) {
    return failure(ssh_failure(ErrorCode::kUnreachable, "read the host key", session));
  }
  const KeyPointer key(raw);
  OfferedHostKey offered{fingerprint_of(key.get()), ssh_key_type_to_char(ssh_key_type(key.get())), {}, {}, {}, {}};
  if (offered.fingerprint.empty()) {
    return failure(ErrorCode::kFailed, "compute the fingerprint of the host key");
  }
  char* base64 = nullptr;
  ssh_pki_export_pubkey_base64(key.get(), &base64);
  const std::string key_base64 = base64 != nullptr ? base64 : "";
  ssh_string_free_char(base64);
  offered.known_hosts_line = station.known_name() + " " + offered.type + " " + key_base64;
  offered.file = station.known_hosts.empty() ? "/dev/null" : station.known_hosts.front();
  SPARK_TRY(offered.known, known_host_keys(station));
  SPARK_TRY(const bool revoked, is_revoked_for(station, key_base64));
  offered.standing = revoked ? OfferedHostKey::Standing::kRevoked : standing_of(station, offered);
  return offered;
}

Result<void> require_trusted(const OfferedHostKey& key, const SshStation& station, RecordedHostKeys& recorded) {
  const std::string trust = "`sparkplan trust " + station.node + "`";
  const auto shown = "its " + key.type + " host key is " + key.fingerprint;
  switch (key.standing) {
    case OfferedHostKey::Standing::kKnown:
    case OfferedHostKey::Standing::kPinned:
      return {};
    case OfferedHostKey::Standing::kUnknown:
      if (station.host_keys == HostKeyPolicy::kAcceptNew) {
        recorded.add(key.known_hosts_line);  // First, as another connection may read the file at once.
        SPARK_CHECK(remember_host_key(key));
        return {};
      }
      return failure(ErrorCode::kUntrusted, "the host key is unknown; " + shown,
                     "compare the fingerprint on the machine itself, then run " + trust);
    case OfferedHostKey::Standing::kChanged:
      return failure(ErrorCode::kUntrusted, "the host key is not the one in known_hosts; " + shown,
                     "if the machine was reinstalled, remove the old key with `" + command_to_forget(key, station) +
                         "` and run " + trust);
    case OfferedHostKey::Standing::kPinMismatch:
      return failure(ErrorCode::kUntrusted, "the host key is not the one pinned in the file; " + shown,
                     "if the machine was reinstalled, change `host_key` in the file");
    case OfferedHostKey::Standing::kRevoked:
      break;
  }
  return failure(ErrorCode::kUntrusted, "the host key is marked @revoked in known_hosts; " + shown);
}

}  // namespace sparkplan::ssh
