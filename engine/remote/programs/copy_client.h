#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "engine/core/result.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/remote/transport/transport.h"
#include "engine/wire/copy_messages.h"
#include "engine/wire/frame.h"

namespace sparkplan {

/// A running sparkplan-copy on one node, on its own connection. It becomes root as the agent does. It ends with this
/// object. Used from one thread at a time.
class CopyClient {
 public:
  /// Connects and starts the program. Unless the policy is kNever, it installs this build's program if that is missing
  /// or of another build.
  /// Errors: those of the connector, kPermissionDenied (sudo), kUnsupported (no program for this architecture, or a
  /// node that is a directory), kNotFound (no program, and the policy is kNever), kUnreachable, kFailed, kInterrupted.
  static Result<CopyClient> open(const NodeSpec& node, const AgentOptions& options);

  /// The program on this machine, as the user who runs sparkplan. Errors: kUnsupported, kFailed, kInterrupted.
  static Result<CopyClient> open_here(const NodeSpec& here, const AgentOptions& options);

  /// Ends the program and starts it again, for another tree. Errors: as open().
  Result<void> restart();
  /// Errors: kUnreachable, also if the last restart() failed.
  Result<void> send(const CopyCommand& command);
  /// The next answer, if it arrives within `patience`. Errors: the program's own; kFailed (it has ended, or sends
  /// invalid frames), kUnreachable (the connection broke), kInterrupted.
  Result<std::optional<CopyAnswer>> receive(std::chrono::milliseconds patience);
  /// The node's login user.
  std::string user() const { return connection_->user(); }
  /// The node's address on the management network, numeric; empty: not known. The connection's counts before
  /// cluster.yaml's. No name is looked up.
  std::string management_address() const;

 private:
  CopyClient(const NodeSpec& node, std::unique_ptr<Connection> connection, AgentOptions options)
      : node_(&node), connection_(std::move(connection)), options_(std::move(options)) {}
  Result<CopyHello> start();
  Result<void> install();
  Result<void> reconnect_after_password();

  const NodeSpec* node_;
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Channel> channel_;
  AgentOptions options_;
  Elevation elevation_ = Elevation::kNone;
  SudoConversation sudo_;
  FrameReader reader_;
};

}  // namespace sparkplan
