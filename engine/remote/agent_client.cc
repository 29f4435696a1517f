#include "engine/remote/agent_client.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"
#include "engine/remote/agent_image.h"
#include "engine/remote/installation.h"
#include "engine/remote/remote_commands.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

std::chrono::milliseconds until(Clock::time_point end) {
  return std::max(std::chrono::milliseconds(0),
                  std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()));
}

}  // namespace

AgentClient::AgentClient(std::unique_ptr<Connection> connection, AgentOptions options)
    : connection_(std::move(connection)), options_(std::move(options)) {}

Result<AgentClient> AgentClient::open(const NodeSpec& node, const AgentOptions& options, const FactsRequest& request) {
  SPARK_TRY(auto connection, options.connector(node, options.connect));
  AgentClient client(std::move(connection), options);
  client.elevation_ = elevation_for(node, options.become_password);
  auto shaken = client.handshake(request);
  if (!shaken && shaken.error().code == ErrorCode::kNotFound && options.install != InstallPolicy::kNever) {
    SPARK_CHECK(client.install(node));
    shaken = client.handshake(request);
  }
  // An agent of before ends at a field that it does not know.
  const auto minor = client.hello_.protocol_minor;
  const bool knows_all = (!request.observe_managed || minor >= kMinorOfObserveManaged) &&
                         (!request.everything || minor >= kMinorOfEverything);
  if (!shaken && !knows_all) {
    FactsRequest of_before = request;
    of_before.observe_managed = request.observe_managed && minor >= kMinorOfObserveManaged;
    of_before.everything = false;
    shaken = client.handshake(of_before);
  }
  if (!shaken) return failure(std::move(shaken).error());
  const bool other_major = client.hello_.protocol_major != kProtocolMajor;
  const auto image = agent_image(client.hello_.architecture);
  const bool other_build = !image || image->build != client.hello_.build;
  const bool lacks_types = std::any_of(request.exports.begin(), request.exports.end(), [&](const auto& wanted) {
    const auto& known = client.hello_.types;
    return std::find(known.begin(), known.end(), wanted.first) == known.end();
  });
  if (other_major && options.install == InstallPolicy::kNever) {
    return failure(ErrorCode::kUnsupported,
                   "the agent speaks protocol " + std::to_string(client.hello_.protocol_major) + ", this program " +
                       std::to_string(kProtocolMajor),
                   "run `sparkplan plan`, which brings the agent up to date");
  }
  const bool unfit = other_major || (lacks_types && options.install == InstallPolicy::kIfNeeded) ||
                     (other_build && options.install == InstallPolicy::kExactBuild);
  if (unfit && node.transport == TransportKind::kSsh) {
    SPARK_CHECK(client.install(node));
    SPARK_CHECK(client.handshake(request));
  }
  if (client.hello_.protocol_major != kProtocolMajor) {
    return failure(
        ErrorCode::kUnsupported,
        "the agent still speaks protocol " + std::to_string(client.hello_.protocol_major) + " after its installation");
  }
  return client;
}

Result<void> AgentClient::start_agent() {
  channel_.reset();
  reader_ = FrameReader();
  SPARK_TRY(channel_, connection_->start(RemoteProgram::kAgent, elevation_));
  if (elevation_ == Elevation::kSudoPassword) {
    // A program that has ended by now, because there is no agent, says so at the first read.
    (void)channel_->write_all(options_.become_password + "\n", options_.reply_timeout);
  }
  return {};
}

Result<void> AgentClient::handshake(const FactsRequest& request) {
  SPARK_CHECK(start_agent());
  const auto id = next_id_++;
  SPARK_TRY(const auto frame, encode_frame(encode(NumberedRequest{id, request})));
  const auto opening = std::string(kPreamble) + frame;
  // With a password on its way, sudo could take our first frame for a second guess.
  const bool wait_for_hello = elevation_ == Elevation::kSudoPassword;
  if (!wait_for_hello) {
    // A peer that is gone already says why at the read below.
    (void)channel_->write_all(opening, options_.reply_timeout);
  }
  SPARK_TRY(const auto hello, receive(options_.reply_timeout, false));
  SPARK_TRY(hello_, decode_hello(hello));
  if (hello_.protocol_major != kProtocolMajor) return {};
  if (wait_for_hello) SPARK_CHECK(channel_->write_all(opening, options_.reply_timeout));
  SPARK_TRY(const auto message, receive(options_.reply_timeout, false));
  SPARK_TRY(auto reply, decode_reply(message));
  if (reply.id != id) return failure(ErrorCode::kFailed, "the agent answered another request");
  if (!reply.body) return failure(std::move(reply.body).error());
  SPARK_TRY(facts_, decode_facts_reply(*reply.body));
  return {};
}

Result<void> AgentClient::install(const NodeSpec& node) {
  if (node.transport == TransportKind::kLocal) {
    return failure(ErrorCode::kUnsupported, "this build carries no agent for this machine");
  }
  channel_.reset();
  SPARK_TRY(channel_, connection_->start(RemoteProgram::kInstaller, elevation_));
  return install_program(*channel_, {"the agent", agent_image, elevation_ == Elevation::kSudoPassword,
                                     options_.become_password, options_.reply_timeout, options_.connect.stop});
}

Error AgentClient::why_silent(const Error& error) const {
  return sparkplan::why_silent(*channel_, error, reader_.noise());
}

Result<Value> AgentClient::receive(std::chrono::milliseconds timeout, bool pass_stop_on) {
  auto end = Clock::now() + timeout;
  bool stop_passed = false;
  while (true) {
    auto message = reader_.next();
    if (!message)
      return failure(ErrorCode::kFailed, "the node does not speak our protocol: " + message.error().describe());
    if (*message) {
      const auto doing = progress_in(**message);
      if (!doing) return std::move(**message);
      if (options_.progress) options_.progress(*doing);
      end = Clock::now() + timeout;  // It is alive.
      continue;
    }
    std::string bytes;
    const auto count = channel_->read_some(bytes, std::min(kStopPatience, until(end)));
    if (!count) return failure(why_silent(count.error()));
    reader_.feed(bytes);
    if (options_.connect.stop.stop_requested()) {
      if (!pass_stop_on && !locked_) return failure(ErrorCode::kInterrupted, "stopped");
      if (pass_stop_on && !stop_passed) {
        SPARK_TRY(const auto frame, encode_frame(encode(NumberedRequest{0, StopNotice{}})));
        SPARK_CHECK(channel_->write_all(frame, options_.reply_timeout));
        stop_passed = true;
      }
    }
    if (!reader_.preamble_seen() && password_was_refused(*channel_)) {
      return failure(wrong_password());
    }
    if (Clock::now() >= end) {
      std::string message_text = "the node did not answer within " + std::to_string(timeout.count() / 1000) + " s";
      if (!reader_.noise().empty()) message_text += "; it printed: " + end_of_output(reader_.noise());
      return failure(ErrorCode::kUnreachable, std::move(message_text));
    }
  }
}

Result<Value> AgentClient::call(Request request, std::optional<std::chrono::milliseconds> patience) {
  const bool is_apply = std::holds_alternative<ApplyRequest>(request);
  const auto id = next_id_++;
  SPARK_TRY(const auto frame, encode_frame(encode(NumberedRequest{id, std::move(request)})));
  SPARK_CHECK(channel_->write_all(frame, options_.reply_timeout));
  // A single step may wait for a service; each one begins with a sign of life.
  const auto timeout = patience.value_or(is_apply ? options_.reply_timeout * 5 : options_.reply_timeout);
  SPARK_TRY(const auto message, receive(timeout, is_apply));
  SPARK_TRY(auto reply, decode_reply(message));
  if (reply.id != id) return failure(ErrorCode::kFailed, "the agent answered another request");
  return std::move(reply.body);
}

Result<FactsReply> AgentClient::refresh_facts(const FactsRequest& request) {
  SPARK_TRY(const auto body, call(request));
  SPARK_TRY(facts_, decode_facts_reply(body));
  return facts_;
}

Result<ObservedState> AgentClient::observe(const ObserveNodeRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_observed_state(body);
}

Result<EffectReply> AgentClient::check_effect(const EffectRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_effect_reply(body);
}

Result<void> AgentClient::lock(const LockHolder& holder, const RunPurpose& purpose) {
  SPARK_CHECK(call(LockRequest{holder, purpose}));
  locked_ = true;
  return {};
}

Result<ApplyReply> AgentClient::apply(const ApplyRequest& request) {
  return try_out(request, options_.reply_timeout * 5);
}

Result<ApplyReply> AgentClient::try_out(const ApplyRequest& request, std::chrono::milliseconds patience) {
  SPARK_TRY(const auto body, call(request, patience));
  SPARK_TRY(auto reply, decode_apply_reply(body));
  if (reply.results.size() != request.steps.size()) {
    return failure(ErrorCode::kFailed, "the agent reported on " + std::to_string(reply.results.size()) + " of " +
                                           std::to_string(request.steps.size()) + " steps");
  }
  return reply;
}

Result<TransactionReport> AgentClient::confirm(const ConfirmRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_transaction_report(body);
}
Result<TransactionReport> AgentClient::roll_back(const RollBackRequest& request) {
  // What is put back may have to be waited for, link by link.
  SPARK_TRY(const auto body, call(request, options_.reply_timeout * 2));
  return decode_transaction_report(body);
}
Result<TransactionReport> AgentClient::extend(const ExtendRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_transaction_report(body);
}
Result<ProbeReply> AgentClient::probe(const ProbeRequest& request) {
  SPARK_TRY(const auto body, call(request));
  SPARK_TRY(auto reply, decode_probe_reply(body));
  if (reply.answered.size() == request.targets.size()) return reply;
  return failure(ErrorCode::kFailed, "the agent reported on " + std::to_string(reply.answered.size()) + " of " +
                                         std::to_string(request.targets.size()) + " targets");
}

Result<void> AgentClient::commit(const CommitRequest& request) {
  return call(request).map([](const Value&) {});
}
Result<void> AgentClient::release(const ReleaseRequest& request) {
  return call(request).map([](const Value&) {});
}
Result<void> AgentClient::unlock() {
  SPARK_CHECK(call(UnlockRequest{}));
  locked_ = false;
  return {};
}
Result<HistoryReply> AgentClient::history(const HistoryRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_history_reply(body);
}
Result<UndoReply> AgentClient::what_undoes(const UndoRequest& request) {
  SPARK_TRY(const auto body, call(request));
  return decode_undo_reply(body);
}
Result<void> AgentClient::break_lock(const BreakLockRequest& request) {
  return call(request).map([](const Value&) {});
}
Result<void> AgentClient::ping() {
  return call(PingRequest{}).map([](const Value&) {});
}

}  // namespace sparkplan
