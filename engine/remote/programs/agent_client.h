#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "engine/core/bounded_text.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/keys/secret.h"
#include "engine/remote/programs/installation.h"
#include "engine/remote/programs/request_deadline.h"
#include "engine/remote/transport/transport.h"
#include "engine/wire/frame.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// When an agent is installed on a node.
enum class InstallPolicy : std::uint8_t {
  kNever,       ///< drift: a node without a usable agent is a failed node.
  kIfNeeded,    ///< plan: the agent is missing, of another protocol major, or lacks one of our resource types.
  kExactBuild,  ///< apply: the agent is not of exactly this build.
};

/// Makes connections: connect(), or a replacement in tests.
using Connector = std::function<Result<std::unique_ptr<Connection>>(const NodeSpec&, const ConnectOptions&)>;

/// Connects as `connector` does, to the machine with this host key only. Errors: those of `connector`; kUntrusted for
/// another machine.
Connector to_same_machine(Connector connector, std::string host_key);

struct AgentOptions {
  Connector connector = sparkplan::connect;
  ConnectOptions connect;
  InstallPolicy install = InstallPolicy::kIfNeeded;
  /// For sudo on nodes whose host key was already known, if it prompts. Empty: sudo must not prompt.
  Secret become_password = {};
  std::chrono::milliseconds reply_timeout{60'000};
  std::function<void(std::string_view)> progress;  ///< The agent's current step during an apply.
  /// For the greeting of a ProgramClient's program, once it is started. Nothing: reply_timeout.
  std::optional<std::chrono::milliseconds> greeting_timeout = {};
};

/// A reply must have as many results as the request has parts, and no artifacts that the request did not ask for.
/// Errors: kFailed.
Result<void> check_reply(const ApplyRequest& request, const ApplyReply& reply);
Result<void> check_reply(const ProbeRequest& request, const ProbeReply& reply);
Result<void> check_reply(const SshLoginRequest& request, const SshLoginReply& reply);
Result<void> check_reply(const RdmaWriteRequest& request, const RdmaWriteReply& reply);
Result<void> check_reply(const HistoryRequest& request, const HistoryReply& reply);

/// The agent on one node, through typed calls. One connection, one channel, requests answered in order. Used from one
/// thread at a time.
class AgentClient {
 public:
  /// Connects, starts the agent and requests the facts without waiting in between. Installs an agent where the policy
  /// requires it.
  /// Errors: those of connect(), and kPermissionDenied (sudo), kUnsupported (no agent for this architecture; newer
  /// protocol), kNotFound (no agent, and the policy is kNever).
  static Result<AgentClient> open(const NodeSpec& node, const AgentOptions& options, const FactsRequest& request);

  /// The answer to the request that open() sent.
  const FactsReply& facts() const { return facts_; }
  /// As facts(), which is empty from then on.
  FactsReply take_facts() { return std::exchange(facts_, {}); }
  const Hello& hello() const { return hello_; }
  std::string host_key() const { return connection_->host_key(); }
  /// Later calls have the reply timeout of `options`, and heed its stop.
  void go_on_with(const AgentOptions& options) {
    options_.reply_timeout = options.reply_timeout;
    options_.connect.stop = options.connect.stop;
  }

  /// The agent's answer to a request. Ends within deadline_of(request), regardless of the node's messages.
  /// Errors are bounded(): the agent's own error, or kUnreachable, kFailed (protocol error or incomplete answer),
  /// kInterrupted. After one of the latter three the client cannot be used any more.
  /// With a `patience`, the connection is considered broken after that time without a message: kUnreachable.
  template <class Kind>
  Result<typename Kind::Reply> call(const Kind& request, std::optional<std::chrono::milliseconds> patience = {}) {
    return reply_to(request, exchange(request, patience));
  }

  /// As call(), and facts() returns the answer from then on; it is empty after an error.
  Result<void> refresh_facts(const FactsRequest& request);
  /// Until unlock(), a stop does not interrupt calls: operations that have begun are completed.
  Result<void> lock(const LockHolder& holder, const RunPurpose& purpose = {});
  Result<void> unlock();
  /// A stop during the call is forwarded to the agent. The reply then reports the steps done before it.
  Result<ApplyReply> apply(ApplyRequest request);
  /// As apply(), for steps on trial. After `patience` without a message the connection is considered broken:
  /// kUnreachable.
  Result<ApplyReply> try_out(ApplyRequest request, std::chrono::milliseconds patience);
  /// As call(), without a copy of the request.
  Result<void> commit(CommitRequest request);

 private:
  AgentClient(std::unique_ptr<Connection> connection, AgentOptions options);
  /// The expected message.
  struct Awaited {
    FrameLimits limits;
    std::int64_t id = 0;  ///< Of the request; 0: the greeting.
    bool pass_stop_on = false;
  };
  Result<void> meet(const NodeSpec& node, const FactsRequest& request);
  /// Each attempt has its deadlines, and a node can have four of them made.
  Result<void> check_time_to_meet() const;
  Result<void> start_agent();
  Result<void> install(const NodeSpec& node);
  Result<void> handshake(const FactsRequest& request);
  Result<void> reconnect_after_password(const NodeSpec& node);
  Result<ApplyReply> send_apply(ApplyRequest request, std::optional<std::chrono::milliseconds> silence);
  Result<Value> exchange(Request request, std::optional<std::chrono::milliseconds> silence = {});
  Result<Value> receive(RequestClock& clock, const Awaited& awaited);
  Result<void> take_progress(const Value& message, std::string_view doing, RequestClock& clock, const Awaited& awaited);
  Result<void> heed_stop(RequestClock& clock, const Awaited& awaited, bool& passed_on);
  Error why_silent(const Error& error) const;
  Error too_late(const RequestClock& clock) const;

  template <class Kind>
  static Result<typename Kind::Reply> reply_to(const Kind& request, const Result<Value>& body) {
    if (!body) return failure(body.error());
    if constexpr (std::is_void_v<typename Kind::Reply>) {
      return {};
    } else {
      auto reply = decode<typename Kind::Reply>(*body);
      if (!reply) return failure(bounded(std::move(reply).error()));
      if constexpr (requires { check_reply(request, *reply); }) SPARK_CHECK(check_reply(request, *reply));
      return reply;
    }
  }

  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::unique_ptr<Connection> connection_;
  std::unique_ptr<Channel> channel_;
  AgentOptions options_;
  Elevation elevation_ = Elevation::kNone;
  SudoConversation sudo_;
  FrameReader reader_;
  Hello hello_;
  FactsReply facts_;
  std::int64_t next_id_ = 1;
  bool locked_ = false;
};

}  // namespace sparkplan
