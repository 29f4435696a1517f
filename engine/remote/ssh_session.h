#pragma once

#include <libssh/libssh.h>

#include <memory>
#include <string>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/host_keys.h"
#include "engine/remote/transport.h"

namespace sparkplan::ssh {

struct SessionDeleter {
  void operator()(ssh_session session) const;
};
using SessionPointer = std::unique_ptr<ssh_session_struct, SessionDeleter>;

struct ChannelDeleter {
  void operator()(ssh_channel channel) const;
};
using ChannelPointer = std::unique_ptr<ssh_channel_struct, ChannelDeleter>;

/// Key exchange done, nobody trusted and nobody logged in yet. ~/.ssh/config is not read: it could
/// run commands. `host_key_type` limits the offer ("ssh-ed25519"); empty means what known_hosts
/// suggests. `socket` is an already connected way to the node, which the session takes over; -1: none.
/// Errors: kUnreachable, kInvalidInput.
Result<SessionPointer> open_session(const NodeSpec& node, std::chrono::milliseconds timeout,
                                    const std::string& host_key_type = {}, int socket = -1);

/// What the session's host key is, and how it stands to the pin and to known_hosts.
Result<OfferedHostKey> examine_host_key(ssh_session session, const NodeSpec& node);

/// Errors: kUntrusted with the fingerprint and the command that trusts it.
Result<void> require_trusted(const OfferedHostKey& key, const NodeSpec& node);

/// Public key authentication: the node's identity file, or ssh-agent and the usual files; where none is accepted
/// the password of `options`, unless it is empty. A password that is not decided over within the time to connect is
/// given up.
/// Errors: kPermissionDenied, kInvalidInput (identity file), kUnreachable, kInterrupted.
Result<void> authenticate(ssh_session session, const NodeSpec& node, const ConnectOptions& options);

/// "~" and "~/x" by $HOME.
std::string expand_home(const std::string& path);

}  // namespace sparkplan::ssh
