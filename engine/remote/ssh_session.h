#pragma once

#include <libssh/libssh.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/host_keys.h"
#include "engine/remote/transport.h"

namespace sparkplan::ssh {

/// What a session's peer has sent beside what was asked of it. A request of its own is refused, never kept.
struct SessionWatch {
  ssh_counter_struct packets{};  ///< All that came, decrypted.
  std::uint64_t payload = 0;     ///< Of these bytes, what a program has printed.
  std::uint64_t requests = 0;    ///< Channels that it wanted to open, and the like.

  bool floods() const;
};

struct SessionDeleter {
  std::shared_ptr<SessionWatch> watch;  ///< Goes after the session.
  void operator()(ssh_session session) const;
};
using SessionPointer = std::unique_ptr<ssh_session_struct, SessionDeleter>;

struct ChannelDeleter {
  void operator()(ssh_channel channel) const;
};
using ChannelPointer = std::unique_ptr<ssh_channel_struct, ChannelDeleter>;

/// Repeats what libssh answers with SSH_AGAIN until it answers otherwise, `end` has come, a stop was asked for (then
/// the answer is SSH_AGAIN) or the peer floods us (then it is SSH_ERROR).
int await_answer(const SessionPointer& session, std::chrono::steady_clock::time_point end, const std::stop_token& stop,
                 const std::function<int()>& attempt);

/// libssh's last error, which may be the peer's words: one line, at most kLongestShortText bytes.
std::string ssh_words(ssh_session session);

/// Key exchange done, nobody trusted and nobody logged in yet. ~/.ssh/config is not read: it could
/// run commands. From here on the session never blocks. `host_key_type` limits the offer ("ssh-ed25519"); empty means
/// what known_hosts suggests. `socket` is an already connected way to the node, which the session takes over; -1: none.
/// Errors: kUnreachable, kInvalidInput.
Result<SessionPointer> open_session(const NodeSpec& node, std::chrono::milliseconds timeout,
                                    const std::string& host_key_type = {}, int socket = -1);

/// What the session's host key is, and how it stands to the pin and to known_hosts.
Result<OfferedHostKey> examine_host_key(ssh_session session, const NodeSpec& node);

/// Errors: kUntrusted with the fingerprint and the command that trusts it.
Result<void> require_trusted(const OfferedHostKey& key, const NodeSpec& node);

/// Public key authentication: the node's identity file, or ssh-agent and the usual files; where none is accepted
/// the password of `options`, unless it is empty. All keys together have the time to connect to be decided over, and
/// the password as much again.
/// Errors: kPermissionDenied, kInvalidInput (identity file), kUnreachable, kInterrupted.
Result<void> authenticate(const SessionPointer& session, const NodeSpec& node, const ConnectOptions& options);

/// "~" and "~/x" by $HOME.
std::string expand_home(const std::string& path);

}  // namespace sparkplan::ssh
