#pragma once

#include <memory>
#include <string>
#include <thread>

#include "engine/core/result.h"
#include "engine/remote/ssh_session.h"

namespace sparkplan::ssh {

/// A way through another machine to a node: our own session to the jump host and a forwarded
/// connection in it, as `ssh -J` does. No command is run on the jump host. It is logged in to and
/// checked like a node, by known_hosts. Source: RFC 4254 section 7.2 (direct-tcpip).
class JumpTunnel {
 public:
  /// `node.ssh.jump` is [USER@]HOST[:PORT]; the user is the node's when left out.
  /// Errors: as open_session(), require_trusted() and authenticate(), context "jump host ...";
  /// kUnreachable when the jump host cannot reach the node.
  static Result<std::unique_ptr<JumpTunnel>> open(const NodeSpec& node, const ConnectOptions& options);

  ~JumpTunnel();
  JumpTunnel(const JumpTunnel&) = delete;
  JumpTunnel& operator=(const JumpTunnel&) = delete;

  /// Our end, a connected stream socket; the session that takes it closes it.
  int take_socket();

 private:
  JumpTunnel(SessionPointer session, ChannelPointer channel, int ours, int pumped);
  void pump(const std::stop_token& stop);

  SessionPointer session_;
  ChannelPointer channel_;
  int ours_;
  int pumped_;
  std::jthread pump_;  // The only thread that touches session_ and channel_ once it runs.
};

/// The jump host as a node of its own: how to reach it.
Result<NodeSpec> jump_host(const NodeSpec& node);

}  // namespace sparkplan::ssh
