#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "engine/core/result.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/remote/programs/program_client.h"
#include "engine/wire/job_messages.h"
#include "engine/wire/nccl_messages.h"

namespace sparkplan {

/// A running sparkplan-nccl on one node, on its own connection. It runs as the login user, with the limits of a new
/// login. It ends with this object. Used from one thread at a time.
class NcclRankClient {
 public:
  /// Connects, installs this build's program if it is missing or of another build, and starts it.
  /// Errors: those of the connector, kPermissionDenied (sudo), kUnsupported (no program for this architecture),
  /// kUnreachable, kFailed (it does not run there), kInterrupted.
  static Result<NcclRankClient> open(const NodeSpec& node, const AgentOptions& options);

  /// As open(), in a container: `job` starts the client of the engine, which mounts the installed program. The process
  /// starter removes the container at the end, also if this process is killed. `image` is for messages.
  /// Errors: those of open(), and container_end_error().
  static Result<NcclRankClient> open_in_container(const NodeSpec& node, const AgentOptions& options,
                                                  const StartJob& job, const std::string& image);

  /// Takes at most `limit`, as ProgramClient::send(). Errors: kUnreachable.
  Result<void> send(const RankCommand& command, std::chrono::milliseconds limit);
  /// The next answer, if it arrives within `patience`.
  /// Errors: kFailed (the program has ended, or sends invalid frames), kUnreachable (the connection broke).
  Result<std::optional<RankAnswer>> receive(std::chrono::milliseconds patience);
  /// Ends the program at once, even during a command, and waits for its end. True if its end was seen.
  bool end(std::chrono::milliseconds patience) { return program_.end(patience); }

 private:
  explicit NcclRankClient(ProgramClient program) : program_(std::move(program)) {}

  ProgramClient program_;
};

}  // namespace sparkplan
