#pragma once

#include <chrono>
#include <memory>
#include <optional>

#include "engine/core/result.h"
#include "engine/remote/agent_client.h"
#include "engine/remote/transport.h"
#include "engine/wire/frame.h"
#include "engine/wire/nccl_messages.h"

namespace sparkplan {

/// A running sparkplan-nccl on one node, on a connection of its own: it runs as the user who logs in, with
/// the limits of a login that is made now. It ends with this object. Used from one thread at a time.
class NcclRankClient {
 public:
  /// Connects, puts this build's program in place where there is none or another one, and starts it.
  /// Errors: those of the connector, kPermissionDenied (sudo), kUnsupported (no program for this
  /// architecture), kUnreachable, kFailed (it does not run there), kInterrupted.
  static Result<NcclRankClient> open(const NodeSpec& node, const AgentOptions& options);

  /// Errors: kUnreachable.
  Result<void> send(const RankCommand& command);
  /// The next answer, if one comes within `patience`.
  /// Errors: kFailed (the program has ended, or speaks rubbish), kUnreachable (the connection broke).
  Result<std::optional<RankAnswer>> receive(std::chrono::milliseconds patience);
  /// Ends the program, at once and whatever it is at, and waits until it has ended: true if it was seen to.
  bool end(std::chrono::milliseconds patience);

 private:
  NcclRankClient(std::unique_ptr<Connection> connection, const AgentOptions& options)
      : connection_(std::move(connection)), timeout_(options.reply_timeout) {}
  Result<RankHello> start(const AgentOptions& options);

  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Channel> channel_;
  FrameReader reader_;
  std::chrono::milliseconds timeout_;
};

}  // namespace sparkplan
