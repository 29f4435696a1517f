#pragma once

#include <memory>
#include <stop_token>
#include <string>
#include <utility>

#include "engine/core/result.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan {

/// Carries one connection from a port on a node's loopback to a port of this machine, over a separate SSH
/// connection. sparkplan-copy listens on the node, as the login user, for the connection that begins with a token.
class CopyRelay {
 public:
  /// The node has sparkplan-copy already. `token`: CopyJoin::token. `stop` ends the opening and, later, carry() at
  /// once, also while the node or the local program takes no bytes. Errors: those of the connector, kNotFound (no
  /// sparkplan-copy), kUnreachable, kFailed, kInterrupted.
  static Result<CopyRelay> open(const NodeSpec& node, AgentOptions options, const std::string& token,
                                const std::stop_token& stop);

  /// On the node's loopback, for one connection within a minute.
  int port() const { return port_; }
  /// Until one of the two ends closes, or the stop of open() is requested.
  void carry(int local_port);

 private:
  CopyRelay(std::unique_ptr<Connection> connection, std::unique_ptr<Channel> channel, std::stop_token stop)
      : connection_(std::move(connection)), channel_(std::move(channel)), stop_(std::move(stop)) {}

  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Channel> channel_;
  std::stop_token stop_;
  int port_ = 0;
};

}  // namespace sparkplan
