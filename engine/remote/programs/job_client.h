#pragma once

#include <chrono>
#include <optional>
#include <utility>

#include "engine/core/result.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/remote/programs/program_client.h"
#include "engine/wire/job_messages.h"

namespace sparkplan {

/// A running sparkplan-job on one node. Its ranks end with this object. Used from one thread at a time.
class JobClient {
 public:
  /// Errors: those of ProgramClient::open().
  static Result<JobClient> open(const NodeSpec& node, const AgentOptions& options);

  /// Takes at most `limit`, as ProgramClient::send(). Errors: kUnreachable, kUnsupported (too large).
  Result<void> send(const JobCommand& command, std::optional<std::chrono::milliseconds> limit = {});
  /// The next answer, if it arrives within `patience`. Errors: those of ProgramClient::receive().
  Result<std::optional<JobAnswer>> receive(std::chrono::milliseconds patience);

 private:
  explicit JobClient(ProgramClient program) : program_(std::move(program)) {}

  ProgramClient program_;
};

}  // namespace sparkplan
