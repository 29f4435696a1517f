#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>

#include "engine/core/bounded_text.h"
#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/installation.h"
#include "engine/remote/request_deadline.h"
#include "engine/remote/secret.h"
#include "engine/remote/transport.h"
#include "engine/wire/frame.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// When an agent is pushed to a node.
enum class InstallPolicy : std::uint8_t {
  kNever,       ///< drift: a node without a usable agent is a failed node.
  kIfNeeded,    ///< plan: missing, of another protocol major, or without a resource type of ours.
  kExactBuild,  ///< apply: anything but this build.
};

/// How connections are made: connect(), or a test's own.
using Connector = std::function<Result<std::unique_ptr<Connection>>(const NodeSpec&, const ConnectOptions&)>;

struct AgentOptions {
  Connector connector = sparkplan::connect;
  ConnectOptions connect;
  InstallPolicy install = InstallPolicy::kIfNeeded;
  /// For sudo on nodes whose host key was known before, if it asks. Empty: sudo must not ask.
  Secret become_password = {};
  std::chrono::milliseconds reply_timeout{60'000};
  std::function<void(std::string_view)> progress;  ///< What the agent is at during an apply.
};

/// The agent on one node, by typed calls. One connection, one channel, requests answered in order.
/// Used from one thread at a time.
class AgentClient {
 public:
  /// Connects, starts the agent and asks for the facts in the same flight; installs an agent where
  /// the policy says so.
  /// Errors: those of connect(), and kPermissionDenied (sudo), kUnsupported (no agent for this
  /// architecture; newer protocol), kNotFound (no agent, and the policy is kNever).
  static Result<AgentClient> open(const NodeSpec& node, const AgentOptions& options, const FactsRequest& request);

  /// The answer to the request open() was given.
  const FactsReply& facts() const { return facts_; }
  const Hello& hello() const { return hello_; }
  std::string host_key() const { return connection_->host_key(); }

  /// Every call ends within deadline_of() its request, whatever the node sends, and its errors are bounded().
  /// Errors of all calls: what the agent answered, or kUnreachable, kFailed (it speaks
  /// rubbish), kInterrupted. After one of the latter three the client is of no more use.
  Result<FactsReply> refresh_facts(const FactsRequest& request);
  Result<ObservedState> observe(const ObserveNodeRequest& request);
  Result<EffectReply> check_effect(const EffectRequest& request);
  /// From here to unlock() a stop no longer interrupts a call: what was begun is brought to its end.
  Result<void> lock(const LockHolder& holder, const RunPurpose& purpose = {});
  /// A stop asked for while it runs is passed on; the reply then says what was done before.
  Result<ApplyReply> apply(const ApplyRequest& request);
  /// As apply(), of steps on trial. After `patience` without a sign of life the connection counts as cut:
  /// kUnreachable.
  Result<ApplyReply> try_out(const ApplyRequest& request, std::chrono::milliseconds patience);
  /// Confirms, undoes or extends what is on trial. kRolledBack in the reply to a confirmation: too late.
  Result<TransactionReport> confirm(const ConfirmRequest& request);
  Result<TransactionReport> roll_back(const RollBackRequest& request);
  Result<TransactionReport> extend(const ExtendRequest& request);
  Result<ProbeReply> probe(const ProbeRequest& request);
  Result<RdmaEndpoint> rdma_open(const RdmaOpenRequest& request);
  Result<void> rdma_connect(const RdmaConnectRequest& request);
  Result<RdmaWriteReply> rdma_write(const RdmaWriteRequest& request);
  Result<RdmaLatencyReply> rdma_latency(const RdmaLatencyRequest& request);
  Result<RdmaCountersReply> rdma_counters(const RdmaCountersRequest& request);
  Result<void> rdma_close(const RdmaCloseRequest& request);
  Result<void> commit(const CommitRequest& request);
  Result<void> release(const ReleaseRequest& request);
  Result<void> unlock();
  Result<HistoryReply> history(const HistoryRequest& request);
  Result<UndoReply> what_undoes(const UndoRequest& request);
  Result<void> break_lock(const BreakLockRequest& request);
  Result<OpenEarReply> open_ear(const OpenEarRequest& request);
  Result<CloseEarReply> close_ear(const CloseEarRequest& request);
  Result<void> send_datagrams(const SendDatagramsRequest& request);
  Result<void> listen_to_cables(const ListenToCablesRequest& request);
  Result<void> call_into_cables(const CallIntoCablesRequest& request);
  Result<HearCablesReply> hear_cables();
  Result<MeasureTcpReply> measure_tcp(const MeasureTcpRequest& request);
  Result<ReadStorageReply> read_storage(const ReadStorageRequest& request);
  Result<SshLoginReply> ssh_login(const SshLoginRequest& request);
  Result<MeasurementsReply> measurements(const MeasurementsRequest& request);
  Result<void> ping();

 private:
  AgentClient(std::unique_ptr<Connection> connection, AgentOptions options);
  /// Of the message that is waited for.
  struct Awaited {
    FrameLimits limits;
    std::int64_t id = 0;  ///< Of the request; 0: the greeting.
    bool pass_stop_on = false;
  };
  Result<void> meet(const NodeSpec& node, const FactsRequest& request);
  Result<void> start_agent();
  Result<void> install(const NodeSpec& node);
  Result<void> handshake(const FactsRequest& request);
  Result<void> reconnect_after_password(const NodeSpec& node);
  Result<Value> call(Request request, std::optional<std::chrono::milliseconds> silence = {});
  Result<Value> receive(RequestClock& clock, const Awaited& awaited);
  Result<void> take_progress(const Value& message, std::string_view doing, RequestClock& clock, const Awaited& awaited);
  Result<void> heed_stop(RequestClock& clock, const Awaited& awaited, bool& passed_on);
  Error why_silent(const Error& error) const;
  Error too_late(const RequestClock& clock) const;

  template <class T>
  Result<T> ask(Request request, Result<T> (*decode)(const Value&)) {
    SPARK_TRY(const auto body, call(std::move(request)));
    return decoded(body, decode);
  }
  template <class T>
  static Result<T> decoded(const Value& body, Result<T> (*decode)(const Value&)) {
    auto reply = decode(body);
    if (!reply) return failure(bounded(std::move(reply).error()));
    return reply;
  }

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
