#pragma once

#include <memory>
#include <string>
#include <thread>

#include "engine/core/result.h"
#include "engine/remote/ssh_session.h"

namespace sparkplan::ssh {

/// A connection to a node through a jump host: our own session to the jump host and a forwarded connection in it, as
/// `ssh -J` makes it. No command is run on the jump host. Its login and host key check are those of a node, by
/// known_hosts. Source: RFC 4254 section 7.2 (direct-tcpip).
class JumpTunnel {
 public:
  /// `node.ssh.jump` is [USER@]HOST[:PORT]; the default user is the node's.
  /// Errors: as open_session(), require_trusted() and authenticate(), context "jump host ..."; kUnreachable when the
  /// jump host cannot reach the node.
  static Result<std::unique_ptr<JumpTunnel>> open(const NodeSpec& node, const ConnectOptions& options);

  ~JumpTunnel();
  JumpTunnel(const JumpTunnel&) = delete;
  JumpTunnel& operator=(const JumpTunnel&) = delete;

  /// The local end of the tunnel, a connected stream socket. The caller's session closes it.
  int take_socket();

 private:
  JumpTunnel(SessionPointer session, ChannelPointer channel, int ours, int pumped);
  void pump(const std::stop_token& stop);

  SessionPointer session_;
  ChannelPointer channel_;
  int ours_;
  int pumped_;
  std::jthread pump_;  // Once it runs, the only thread that uses session_ and channel_.
};

/// The SSH settings of the jump host, as if it were a node.
Result<NodeSpec> jump_host(const NodeSpec& node);

}  // namespace sparkplan::ssh
