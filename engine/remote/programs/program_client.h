#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "engine/core/result.h"
#include "engine/core/value.h"
#include "engine/remote/programs/agent_client.h"
#include "engine/remote/transport/transport.h"
#include "engine/wire/frame.h"

namespace sparkplan {

/// A program that runs on nodes as the login user, beside the agent.
struct CarriedProgramKind {
  std::string_view name;  ///< Its file: "sparkplan-nccl".
  std::string_view what;  ///< For messages: "the program for the NCCL test".
  RemoteProgram program;
  RemoteProgram installer;
  std::optional<ProgramImage> (*image)(std::string_view architecture);
};

/// A running program of that kind on one node, on its own connection. It runs with the limits of a new login, and ends
/// with this object. Used from one thread at a time.
class ProgramClient {
 public:
  /// The build and the architecture in a program's greeting; nothing for another message.
  struct Greeting {
    std::string build;
    std::string architecture;
  };
  using ReadGreeting = std::function<std::optional<Greeting>(const Value& message)>;

  /// Connects, installs this build's program if it is missing or of another build, and starts it.
  /// Errors: those of the connector, kPermissionDenied (sudo), kUnsupported (no program for this architecture, or a C
  /// library older than kOldestGlibc), kUnreachable, kFailed (it does not run there), kInterrupted.
  static Result<ProgramClient> open(const CarriedProgramKind& kind, const NodeSpec& node, const AgentOptions& options,
                                    const ReadGreeting& read_greeting);

  /// As open(), for a program that runs on `channel` and is never installed.
  /// Errors: those of the channel, kUnreachable, kFailed (no greeting, or of another build), kInterrupted.
  static Result<ProgramClient> open_on(const CarriedProgramKind& kind, std::unique_ptr<Channel> channel,
                                       const AgentOptions& options, const ReadGreeting& read_greeting);

  /// Takes at most `limit`, and at most AgentOptions::reply_timeout. After an error, nothing more can be sent.
  /// Errors: kUnreachable, kUnsupported (too large).
  Result<void> send(const Value& message, std::optional<std::chrono::milliseconds> limit = {});
  /// The next message, if it arrives within `patience`.
  /// Errors: kFailed (the program has ended, or sends invalid frames), kUnreachable (the connection broke).
  Result<std::optional<Value>> receive(std::chrono::milliseconds patience);
  /// Closes the input, which ends the program at once, and waits for its end. True if its end was seen.
  bool end(std::chrono::milliseconds patience);

 private:
  ProgramClient(std::unique_ptr<Connection> connection, const AgentOptions& options)
      : connection_(std::move(connection)), timeout_(options.reply_timeout) {}
  Result<Greeting> start(const CarriedProgramKind& kind, const AgentOptions& options,
                         const ReadGreeting& read_greeting);
  Result<Greeting> greet(const CarriedProgramKind& kind, const AgentOptions& options,
                         const ReadGreeting& read_greeting);
  Result<void> install(const CarriedProgramKind& kind, const NodeSpec& node, const AgentOptions& options);

  std::unique_ptr<Connection> connection_;  ///< Null: the channel has its own.
  std::unique_ptr<Channel> channel_;
  FrameReader reader_;
  std::chrono::milliseconds timeout_;
};

}  // namespace sparkplan
