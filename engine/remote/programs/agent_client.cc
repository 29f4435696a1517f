#include "engine/remote/programs/agent_client.h"

#include <algorithm>
#include <utility>

#include "engine/remote/programs/agent_image.h"

namespace sparkplan {
namespace {

using Clock = std::chrono::steady_clock;

Result<void> check_count(std::size_t reported, std::size_t requested, std::string_view parts) {
  if (reported == requested) return {};
  return failure(ErrorCode::kFailed, "the agent reported on " + std::to_string(reported) + " of " +
                                         std::to_string(requested) + " " + std::string(parts));
}

}  // namespace

Connector to_same_machine(Connector connector, std::string host_key) {
  return [connector = std::move(connector), host_key = std::move(host_key)](
             const NodeSpec& node, const ConnectOptions& options) -> Result<std::unique_ptr<Connection>> {
    SPARK_TRY(auto connection, connector(node, options));
    if (connection->host_key() == host_key) return connection;
    return failure(ErrorCode::kUntrusted, "another machine answers: its host key is " + connection->host_key());
  };
}

/// A step stays undone only because another one failed, or because the run was stopped. Otherwise it would be sent
/// again in every stage.
Result<void> check_reply(const ApplyRequest& request, const ApplyReply& reply) {
  SPARK_CHECK(check_count(reply.results.size(), request.steps.size(), "steps"));
  const auto has_error = [](const StepResult& one) { return one.error.has_value(); };
  const bool explained = reply.stopped || std::any_of(reply.results.begin(), reply.results.end(), has_error);
  for (const StepResult& one : reply.results) {
    const bool fails = one.outcome == StepOutcome::kFailed || one.outcome == StepOutcome::kStale;
    if ((one.outcome == StepOutcome::kDone || explained) && (!fails || one.error)) continue;
    return failure(ErrorCode::kFailed,
                   "the agent reported a step as " + std::string(to_string(one.outcome)) + " without a reason");
  }
  return {};
}
Result<void> check_reply(const ProbeRequest& request, const ProbeReply& reply) {
  return check_count(reply.answered.size(), request.targets.size(), "targets");
}
Result<void> check_reply(const SshLoginRequest& request, const SshLoginReply& reply) {
  return check_count(reply.logins.size(), request.targets.size(), "logins");
}
Result<void> check_reply(const RdmaWriteRequest& request, const RdmaWriteReply& reply) {
  return check_count(reply.results.size(), request.sessions.size(), "RDMA sessions");
}
Result<void> check_reply(const HistoryRequest& request, const HistoryReply& reply) {
  const auto lists_artifacts = [](const JournaledRun& run) { return !run.artifacts.empty(); };
  if (request.with_artifacts || std::ranges::none_of(reply.runs, lists_artifacts)) return {};
  return failure(ErrorCode::kFailed, "the agent listed artifacts of runs without a request for them");
}

AgentClient::AgentClient(std::unique_ptr<Connection> connection, AgentOptions options)
    : connection_(std::move(connection)), options_(std::move(options)) {}

Result<AgentClient> AgentClient::open(const NodeSpec& node, const AgentOptions& options, const FactsRequest& request) {
  SPARK_TRY(auto connection, options.connector(node, options.connect));
  AgentClient client(std::move(connection), options);
  client.elevation_ = elevation_for(node, *client.connection_, options.become_password);
  auto met = client.meet(node, request);
  if (met) return client;
  return failure(with_password_held_back(std::move(met).error(), *client.connection_, options.become_password));
}

Result<void> AgentClient::meet(const NodeSpec& node, const FactsRequest& request) {
  auto shaken = handshake(request);
  if (!shaken && shaken.error().code == ErrorCode::kNotFound && options_.install != InstallPolicy::kNever) {
    SPARK_CHECK(install(node));
    SPARK_CHECK(reconnect_after_password(node));
    shaken = handshake(request);
  }
  // An agent of an older version ends at an unknown field.
  const auto minor = hello_.protocol_minor;
  const bool knows_all = (!request.observe_managed || minor >= kMinorOfObserveManaged) &&
                         (!request.everything || minor >= kMinorOfEverything) &&
                         (request.known_rosters.empty() || minor >= kMinorOfKnownRosters) &&
                         (request.patience_ms == 0 || minor >= kMinorOfPatience);
  if (!shaken && !knows_all) {
    FactsRequest of_before = request;
    of_before.observe_managed = request.observe_managed && minor >= kMinorOfObserveManaged;
    of_before.everything = request.everything && minor >= kMinorOfEverything;
    if (minor < kMinorOfKnownRosters) of_before.known_rosters.clear();
    if (minor < kMinorOfPatience) of_before.patience_ms = 0;
    SPARK_CHECK(reconnect_after_password(node));
    shaken = handshake(of_before);
  }
  if (!shaken) return failure(std::move(shaken).error());
  const bool other_major = hello_.protocol_major != kProtocolMajor;
  const auto image = agent_image(hello_.architecture);
  const bool other_build = !image || image->build != hello_.build;
  const bool lacks_types = std::any_of(request.exports.begin(), request.exports.end(), [&](const auto& wanted) {
    const auto& known = hello_.types;
    return std::find(known.begin(), known.end(), wanted.first) == known.end();
  });
  if (other_major && options_.install == InstallPolicy::kNever) {
    return failure(ErrorCode::kUnsupported,
                   "the agent speaks protocol " + std::to_string(hello_.protocol_major) + ", this program " +
                       std::to_string(kProtocolMajor),
                   "run `sparkplan plan`, which updates the agent");
  }
  const bool unfit = other_major || (lacks_types && options_.install == InstallPolicy::kIfNeeded) ||
                     (other_build && options_.install == InstallPolicy::kExactBuild);
  if (unfit && node.transport == TransportKind::kSsh) {
    SPARK_CHECK(reconnect_after_password(node));
    SPARK_CHECK(install(node));
    SPARK_CHECK(reconnect_after_password(node));
    SPARK_CHECK(handshake(request));
  }
  if (hello_.protocol_major != kProtocolMajor) {
    return failure(ErrorCode::kUnsupported, "the agent still speaks protocol " + std::to_string(hello_.protocol_major) +
                                                " after its installation");
  }
  return {};
}

/// A password is sent once per connection. A second use needs a new connection, to the same machine.
Result<void> AgentClient::reconnect_after_password(const NodeSpec& node) {
  if (!sudo_.password_sent()) return {};
  channel_.reset();
  SPARK_TRY(connection_, to_same_machine(options_.connector, connection_->host_key())(node, options_.connect));
  return {};
}

Result<void> AgentClient::start_agent() {
  channel_.reset();
  reader_ = FrameReader();
  sudo_ = SudoConversation();
  SPARK_TRY(channel_, connection_->start(RemoteProgram::kAgent, elevation_));
  if (elevation_ == Elevation::kSudoPassword) sudo_ = SudoConversation(options_.become_password);
  return {};
}

Result<void> AgentClient::check_time_to_meet() const {
  constexpr int kTimeouts = 4;  // Two for an installation, and one for the answer before it and after it.
  if (Clock::now() - begun_ < options_.reply_timeout * kTimeouts) return {};
  return failure(ErrorCode::kUnreachable, "the node takes too long to start the agent");
}

Result<void> AgentClient::handshake(const FactsRequest& request) {
  SPARK_CHECK(check_time_to_meet());
  SPARK_CHECK(start_agent());
  const auto id = next_id_++;
  SPARK_TRY(const auto frame, encode_frame(encode(NumberedRequest{id, request})));
  const auto opening = std::string(kPreamble) + frame;
  RequestClock greeting({options_.reply_timeout, options_.reply_timeout, 0}, Clock::now());
  // If sudo may prompt, it could read our first frame as the password.
  const bool wait_for_hello = elevation_ == Elevation::kSudoPassword;
  if (!wait_for_hello) {
    // A closed connection gives the reason at the read below.
    (void)channel_->write_all(opening, options_.reply_timeout);
  }
  SPARK_TRY(const auto hello, receive(greeting, {kSmallMessage, 0, false}));
  auto greeted = decode<Hello>(hello);
  if (!greeted) return failure(bounded(std::move(greeted).error()));
  hello_ = std::move(*greeted);
  if (hello_.protocol_major != kProtocolMajor) return {};
  RequestClock clock(deadline_of(request, options_.reply_timeout), Clock::now());
  if (wait_for_hello) SPARK_CHECK(channel_->write_all(opening, clock.left(Clock::now())));
  SPARK_TRY(auto message, receive(clock, {reply_limits(request), id, false}));
  auto reply = decode_reply(std::move(message));
  if (!reply) return failure(bounded(std::move(reply).error()));
  if (reply->id != id) return failure(ErrorCode::kFailed, "the agent answered another request");
  SPARK_TRY(facts_, reply_to(request, reply->body));
  return {};
}

Result<void> AgentClient::install(const NodeSpec& node) {
  if (node.transport == TransportKind::kLocal) {
    return failure(ErrorCode::kUnsupported, "this build contains no agent for this machine");
  }
  SPARK_CHECK(check_time_to_meet());
  channel_.reset();
  SPARK_TRY(channel_, connection_->start(RemoteProgram::kInstaller, elevation_));
  sudo_ = elevation_ == Elevation::kSudoPassword ? SudoConversation(options_.become_password) : SudoConversation();
  return install_program(*channel_, {"the agent", agent_image, sudo_, options_.reply_timeout, options_.connect.stop});
}

Error AgentClient::why_silent(const Error& error) const {
  return sparkplan::why_silent(*channel_, error, reader_.noise());
}

Error AgentClient::too_late(const RequestClock& clock) const {
  Error error = clock.too_late(Clock::now());
  if (!reader_.noise().empty()) error.message += "; it printed: " + end_of_output(reader_.noise());
  return error;
}

Result<void> AgentClient::take_progress(const Value& message, std::string_view doing, RequestClock& clock,
                                        const Awaited& awaited) {
  if (awaited.id == 0 || message.integer_or("id", 0) != awaited.id) {
    return failure(ErrorCode::kFailed, "the node reports progress of another request");
  }
  SPARK_TRY(const bool show, clock.note_progress(Clock::now()));
  if (show && options_.progress) options_.progress(shown_text(doing));
  return {};
}

/// Forwards the stop once if the reply reports the finished steps. Otherwise it interrupts the call, unless the node is
/// locked.
Result<void> AgentClient::heed_stop(RequestClock& clock, const Awaited& awaited, bool& passed_on) {
  if (!options_.connect.stop.stop_requested()) return {};
  if (!awaited.pass_stop_on) {
    if (locked_) return {};
    return failure(ErrorCode::kInterrupted, "stopped");
  }
  if (passed_on) return {};
  passed_on = true;
  SPARK_TRY(const auto frame, encode_frame(encode(NumberedRequest{0, StopNotice{}})));
  return channel_->write_all(frame, std::min(options_.reply_timeout, clock.left(Clock::now())));
}

Result<Value> AgentClient::receive(RequestClock& clock, const Awaited& awaited) {
  bool stop_passed_on = false;
  while (true) {
    auto message = reader_.next(awaited.limits);
    if (!message) {
      return failure(bounded(make_error(
          ErrorCode::kFailed, "the node does not speak sparkplan's protocol: " + message.error().describe())));
    }
    const auto doing = *message ? progress_in(**message) : std::nullopt;
    if (*message && !doing) return std::move(**message);
    if (clock.over(Clock::now())) return failure(too_late(clock));
    if (doing) {
      SPARK_CHECK(take_progress(**message, *doing, clock, awaited));
      SPARK_CHECK(heed_stop(clock, awaited, stop_passed_on));
      continue;
    }
    std::string bytes;
    const auto count = channel_->read_some(bytes, std::min(kStopPatience, clock.left(Clock::now())));
    if (!count) return failure(why_silent(count.error()));
    reader_.feed(bytes);
    SPARK_CHECK(heed_stop(clock, awaited, stop_passed_on));
    if (!reader_.preamble_seen()) SPARK_CHECK(sudo_.go_on(*channel_, clock.left(Clock::now())));
  }
}

Result<Value> AgentClient::exchange(Request request, std::optional<std::chrono::milliseconds> silence) {
  auto deadline = deadline_of(request, options_.reply_timeout);
  if (silence) deadline.silence = *silence;
  const Awaited awaited{reply_limits(request), next_id_++, std::holds_alternative<ApplyRequest>(request)};
  // The steps of one node can have many megabytes, and so can the reply: each form is freed when the next one is there.
  Value encoded = encode(NumberedRequest{awaited.id, std::move(request)});
  SPARK_TRY(auto frame, encode_frame(encoded));
  encoded = Value();
  RequestClock clock(deadline, Clock::now());
  SPARK_CHECK(channel_->write_all(frame, std::min(options_.reply_timeout, clock.left(Clock::now()))));
  frame = std::string();
  clock.note_sent(Clock::now());
  SPARK_TRY(auto message, receive(clock, awaited));
  auto reply = decode_reply(std::move(message));
  if (!reply) return failure(bounded(std::move(reply).error()));
  if (reply->id != awaited.id) return failure(ErrorCode::kFailed, "the agent answered another request");
  return std::move(reply->body);
}

Result<void> AgentClient::refresh_facts(const FactsRequest& request) {
  facts_ = {};
  SPARK_TRY(facts_, call(request));
  return {};
}

Result<void> AgentClient::lock(const LockHolder& holder, const RunPurpose& purpose) {
  SPARK_CHECK(call(LockRequest{holder, purpose}));
  locked_ = true;
  return {};
}

Result<void> AgentClient::unlock() {
  SPARK_CHECK(call(UnlockRequest{}));
  locked_ = false;
  return {};
}

Result<ApplyReply> AgentClient::apply(ApplyRequest request) { return send_apply(std::move(request), {}); }

Result<ApplyReply> AgentClient::try_out(ApplyRequest request, std::chrono::milliseconds patience) {
  return send_apply(std::move(request), patience);
}

Result<void> AgentClient::commit(CommitRequest request) {
  return reply_to(CommitRequest{}, exchange(std::move(request)));
}

Result<ApplyReply> AgentClient::send_apply(ApplyRequest request, std::optional<std::chrono::milliseconds> silence) {
  // Moved, because the steps of one node can have many megabytes. check_reply() reads no more than their number.
  ApplyRequest asked;
  asked.steps.resize(request.steps.size());
  return reply_to(asked, exchange(std::move(request), silence));
}

}  // namespace sparkplan
