#include "engine/remote/programs/program_client.h"

#include <algorithm>
#include <utility>

#include "engine/remote/programs/installation.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

bool is_ours(const CarriedProgramKind& kind, const ProgramClient::Greeting& greeting) {
  const auto image = kind.image(greeting.architecture);
  return image && image->build == greeting.build;
}

}  // namespace

Result<ProgramClient> ProgramClient::open(const CarriedProgramKind& kind, const NodeSpec& node,
                                          const AgentOptions& options, const ReadGreeting& read_greeting) {
  SPARK_TRY(auto connection, options.connector(node, options.connect));
  ProgramClient client(std::move(connection), options);
  auto greeting = client.start(kind, options, read_greeting);
  const bool missing = !greeting && greeting.error().code == ErrorCode::kNotFound;
  const bool other = greeting && !is_ours(kind, *greeting);
  if ((missing || other) && node.transport == TransportKind::kSsh) {
    SPARK_CHECK(client.install(kind, node, options));
    greeting = client.start(kind, options, read_greeting);
  }
  if (!greeting) return failure(std::move(greeting).error());
  if (!is_ours(kind, *greeting)) {
    return failure(ErrorCode::kFailed, "the node runs a " + std::string(kind.name) + " of another build");
  }
  return client;
}

Result<ProgramClient> ProgramClient::open_on(const CarriedProgramKind& kind, std::unique_ptr<Channel> channel,
                                             const AgentOptions& options, const ReadGreeting& read_greeting) {
  ProgramClient client(nullptr, options);
  client.channel_ = std::move(channel);
  SPARK_TRY(const auto greeting, client.greet(kind, options, read_greeting));
  if (!is_ours(kind, greeting)) {
    return failure(ErrorCode::kFailed, "the node runs a " + std::string(kind.name) + " of another build");
  }
  return client;
}

Result<void> ProgramClient::install(const CarriedProgramKind& kind, const NodeSpec& node, const AgentOptions& options) {
  const auto elevation = elevation_for(node, *connection_, options.become_password);
  SudoConversation sudo;
  if (elevation == Elevation::kSudoPassword) sudo = SudoConversation(options.become_password);
  channel_.reset();
  SPARK_TRY(channel_, connection_->start(kind.installer, elevation));
  auto installed =
      install_program(*channel_, {kind.name, kind.image, sudo, options.reply_timeout, options.connect.stop});
  if (installed) return {};
  Error error = std::move(installed).error();
  // A sudo rule that lets the agent run without a password does not allow installing a program.
  if (error.code == ErrorCode::kPermissionDenied) error.hint = "pass --ask-become-pass once";
  return failure(with_password_held_back(std::move(error), *connection_, options.become_password));
}

Result<ProgramClient::Greeting> ProgramClient::start(const CarriedProgramKind& kind, const AgentOptions& options,
                                                     const ReadGreeting& read_greeting) {
  channel_.reset();
  reader_ = FrameReader();
  SPARK_TRY(channel_, connection_->start(kind.program, Elevation::kNone));
  return greet(kind, options, read_greeting);
}

Result<ProgramClient::Greeting> ProgramClient::greet(const CarriedProgramKind& kind, const AgentOptions& options,
                                                     const ReadGreeting& read_greeting) {
  const auto timeout = options.greeting_timeout.value_or(timeout_);
  const auto end = Clock::now() + timeout;
  (void)channel_->write_all(kPreamble, timeout);  // If the program is missing, the first read gives the reason.
  while (Clock::now() < end) {
    if (options.connect.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    SPARK_TRY(const auto answer, receive(kStopPatience));
    if (!answer) continue;
    if (auto greeting = read_greeting(*answer)) return *std::move(greeting);
    return failure(ErrorCode::kFailed, std::string(kind.what) + " sent no greeting");
  }
  return failure(ErrorCode::kUnreachable, std::string(kind.what) + " did not start in time");
}

Result<void> ProgramClient::send(const Value& message, std::optional<std::chrono::milliseconds> limit) {
  SPARK_TRY(const auto frame, encode_frame(message));
  return channel_->write_all(frame, std::min(timeout_, limit.value_or(timeout_)));
}

Result<std::optional<Value>> ProgramClient::receive(std::chrono::milliseconds patience) {
  auto message = reader_.next(kSmallMessage);
  if (message && !*message) {
    std::string bytes;
    const auto count = channel_->read_some(bytes, patience);
    if (!count) {
      auto error = why_silent(*channel_, count.error(), reader_.noise());
      // A regular end of the stream without a status means that a signal has ended the program.
      if (count.error().code == ErrorCode::kNotFound && error.code == ErrorCode::kUnreachable) {
        error = {ErrorCode::kFailed, "a signal ended the program", {}, std::nullopt, ""};
      }
      return failure(std::move(error));
    }
    reader_.feed(bytes);
    message = reader_.next(kSmallMessage);
  }
  if (!message) {
    return failure(ErrorCode::kFailed,
                   "the node does not speak sparkplan's protocol: " + shown_text(message.error().describe()));
  }
  return message;
}

bool ProgramClient::end(std::chrono::milliseconds patience) {
  channel_->close_input();
  const auto end = Clock::now() + patience;
  std::string rest;
  while (Clock::now() < end) {
    rest.clear();
    const auto count = channel_->read_some(rest, std::chrono::milliseconds(20));
    if (!count) return count.error().code == ErrorCode::kNotFound;
  }
  return false;
}

}  // namespace sparkplan
