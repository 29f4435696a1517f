#include "engine/remote/nccl_rank_client.h"

#include <algorithm>
#include <utility>

#include "engine/remote/agent_image.h"
#include "engine/remote/installation.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

bool is_ours(const RankHello& hello) {
  const auto image = nccl_rank_image(hello.architecture);
  return image && image->build == hello.build;
}

}  // namespace

Result<NcclRankClient> NcclRankClient::open(const NodeSpec& node, const AgentOptions& options) {
  SPARK_TRY(auto connection, options.connector(node, options.connect));
  NcclRankClient client(std::move(connection), options);
  auto hello = client.start(options);
  const bool missing = !hello && hello.error().code == ErrorCode::kNotFound;
  const bool other = hello && !is_ours(*hello);
  if ((missing || other) && node.transport == TransportKind::kSsh) {
    const auto elevation = elevation_for(node, *client.connection_, options.become_password);
    SudoConversation sudo;
    if (elevation == Elevation::kSudoPassword) sudo = SudoConversation(options.become_password);
    client.channel_.reset();
    SPARK_TRY(client.channel_, client.connection_->start(RemoteProgram::kNcclInstaller, elevation));
    auto installed = install_program(
        *client.channel_, {"sparkplan-nccl", nccl_rank_image, sudo, options.reply_timeout, options.connect.stop});
    if (!installed) {
      Error error = std::move(installed).error();
      // A sudo rule that lets the agent run without a password does not allow installing a program.
      if (error.code == ErrorCode::kPermissionDenied) error.hint = "pass --ask-become-pass once";
      return failure(std::move(error));
    }
    hello = client.start(options);
  }
  if (!hello) return failure(std::move(hello).error());
  if (!is_ours(*hello)) return failure(ErrorCode::kFailed, "the node runs a sparkplan-nccl of another build");
  return client;
}

Result<RankHello> NcclRankClient::start(const AgentOptions& options) {
  channel_.reset();
  reader_ = FrameReader();
  SPARK_TRY(channel_, connection_->start(RemoteProgram::kNcclRank, Elevation::kNone));
  const auto end = Clock::now() + timeout_;
  (void)channel_->write_all(kPreamble, timeout_);  // If the program is missing, the first read gives the reason.
  while (Clock::now() < end) {
    if (options.connect.stop.stop_requested()) return failure(ErrorCode::kInterrupted, "stopped");
    SPARK_TRY(const auto answer, receive(kStopPatience));
    if (!answer) continue;
    if (const auto* hello = std::get_if<RankHello>(&*answer)) return *hello;
    return failure(ErrorCode::kFailed, "the program for the NCCL test sent no greeting");
  }
  return failure(ErrorCode::kUnreachable, "the program for the NCCL test did not start in time");
}

Result<void> NcclRankClient::send(const RankCommand& command) {
  SPARK_TRY(const auto frame, encode_frame(encode(command)));
  return channel_->write_all(frame, timeout_);
}

Result<std::optional<RankAnswer>> NcclRankClient::receive(std::chrono::milliseconds patience) {
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
  if (!*message) return std::optional<RankAnswer>();
  auto answer = decode<RankAnswer>(**message);
  if (!answer) return failure(bounded(std::move(answer).error()));
  return std::optional<RankAnswer>(*std::move(answer));
}

bool NcclRankClient::end(std::chrono::milliseconds patience) {
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
