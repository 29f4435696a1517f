#pragma once

#include <libssh/callbacks.h>

#include <memory>
#include <thread>

#include "engine/core/result.h"
#include "engine/remote/ssh/channel_pointer.h"
#include "engine/remote/ssh/ssh_session.h"

namespace sparkplan::ssh {

/// A connection to a station through a jump host: our own session to the jump host and a forwarded connection in it, as
/// `ssh -J` makes it. No command is run on the jump host. Source: RFC 4254 section 7.2 (direct-tcpip).
class JumpTunnel {
 public:
  /// `session` is logged in on `jump_host`; `outer` is the tunnel that it uses, if any.
  /// Errors: kUnreachable when the jump host cannot reach the station; kInterrupted.
  static Result<std::unique_ptr<JumpTunnel>> open(SessionPointer session, std::unique_ptr<JumpTunnel> outer,
                                                  const SshStation& jump_host, const SshStation& station,
                                                  const ConnectOptions& options);

  ~JumpTunnel();
  JumpTunnel(const JumpTunnel&) = delete;
  JumpTunnel& operator=(const JumpTunnel&) = delete;

  /// The local end of the tunnel, a connected stream socket. The caller's session closes it.
  int take_socket();

 private:
  JumpTunnel(std::unique_ptr<JumpTunnel> outer, SessionPointer session, ChannelPointer channel, int ours, int pumped);
  void pump(const std::stop_token& stop);

  std::unique_ptr<JumpTunnel> outer_;  // Outlives the session that uses it.
  SessionPointer session_;
  ssh_channel_callbacks_struct callbacks_{};
  ChannelPointer channel_;
  int ours_;
  int pumped_;
  std::jthread pump_;  // Once it runs, the only thread that uses session_ and channel_.
};

}  // namespace sparkplan::ssh
