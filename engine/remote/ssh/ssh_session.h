#pragma once

#include <libssh/libssh.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/remote/config/ssh_way.h"
#include "engine/remote/ssh/host_keys.h"
#include "engine/remote/ssh/session_watch.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan::ssh {

/// The reason for the end of a session whose peer floods us.
inline constexpr std::string_view kUnrequested = "it sends unrequested packets";
/// The reason for the end of a session whose peer confirms a channel twice, or for packets that are too small.
inline constexpr std::string_view kConfirmsWrongly = "it confirms a channel as no SSH server does";

struct SessionDeleter {
  std::shared_ptr<SessionWatch> watch;  ///< Destroyed after the session.
  void operator()(ssh_session session) const;
};
using SessionPointer = std::unique_ptr<ssh_session_struct, SessionDeleter>;

/// A private key that a server would accept, and whose passphrase is not known yet.
struct LockedKey {
  std::string path;
  std::string shown;
  std::string server = {};  ///< As in KeyQuestion.
};

/// Repeats a libssh call that returns SSH_AGAIN. Ends at any other result, or when `end` has come or a stop is
/// requested: then the result is SSH_AGAIN. Also ends when the peer floods us: then it is SSH_ERROR.
int await_answer(const SessionPointer& session, std::chrono::steady_clock::time_point end, const std::stop_token& stop,
                 const std::function<int()>& attempt);

/// libssh's last error, which may contain text from the peer: one line, at most kLongestShortText bytes.
std::string ssh_words(ssh_session session);

/// Why the last call of libssh failed: kConfirmsWrongly, kUnrequested, else ssh_words(), which is empty for a timeout.
std::string reason_of(const SessionPointer& session);

/// `what`, and libssh's last error.
Error ssh_failure(ErrorCode code, const std::string& what, ssh_session session);

/// A session after the key exchange: the host key is not checked and no user is logged in. libssh reads no
/// configuration: it could run commands. No call of libssh with the session ever waits for the peer. `host_key_type`
/// limits the accepted types ("ssh-ed25519"); empty means the types in known_hosts. `socket` is an existing connection
/// to the station, which the session takes over; -1: none. A stop ends the wait. Errors: kUnreachable, kInvalidInput,
/// kInterrupted.
Result<SessionPointer> open_session(const SshStation& station, const ConnectOptions& options,
                                    const std::string& host_key_type = {}, int socket = -1);

/// The session's host key, compared with the pin and with known_hosts.
Result<OfferedHostKey> examine_host_key(ssh_session session, const SshStation& station);

/// With `host_keys: accept-new` an unknown key is recorded, in the file and in `recorded`.
/// Errors: kUntrusted with the fingerprint and the command that trusts it; those of remember_host_key().
Result<void> require_trusted(const OfferedHostKey& key, const SshStation& station, RecordedHostKeys& recorded);

/// Public key authentication with the station's keys. If none is accepted, the password of `options`, unless it is
/// empty. All keys together may take the connection timeout, and the password the same again.
/// Errors: kPermissionDenied, kInvalidInput (identity file), kUnreachable, kInterrupted. With kPermissionDenied,
/// `locked` is set if a key with a passphrase would be accepted.
Result<void> authenticate(const SessionPointer& session, const SshStation& station, const ConnectOptions& options,
                          std::optional<LockedKey>& locked);

}  // namespace sparkplan::ssh
