#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>

#include "engine/agent/kernel/rdma_ends.h"
#include "engine/agent/measure/link_probe.h"
#include "engine/agent/measure/traffic_receiver.h"
#include "engine/agent/node/local_node.h"
#include "engine/agent/state/journal.h"
#include "engine/agent/state/manifest_store.h"
#include "engine/agent/state/node_lock.h"
#include "engine/agent/trial/rollback_timer.h"
#include "engine/agent/trial/transaction.h"
#include "engine/core/result.h"
#include "engine/resource/registry.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// Answers the requests of one controller. It does not use streams or frames.
class AgentSession {
 public:
  /// `stop_asked` is called between the steps of an apply, `tell` before each step.
  AgentSession(const Registry& registry, LocalNode node, std::function<bool()> stop_asked,
               const std::function<void(std::string_view)>& tell);

  /// Calls the handler of the request's type. A request without a handler does not compile.
  Result<Value> answer(const Request& request);
  /// The time without a request after which the agent ends.
  std::chrono::milliseconds patience() const;

 private:
  Result<FactsReply> handle(const FactsRequest& request);
  Result<ObservedState> handle(const ObserveNodeRequest& request) const;
  Result<EffectReply> handle(const EffectRequest& request) const;
  Result<EffectReply> handle(const ForesightRequest& request) const;
  Result<void> handle(const LockRequest& request);
  Result<ApplyReply> handle(const ApplyRequest& request);
  Result<void> handle(const CommitRequest& request);
  Result<void> handle(const ReleaseRequest& request);
  Result<void> handle(const UnlockRequest& request);
  Result<void> handle(const BreakLockRequest& request);
  static Result<void> handle(const PingRequest& request);
  static Result<void> handle(const StopNotice& notice);
  Result<std::optional<TransactionReport>> handle(const TransactionRequest& request) const;
  Result<TransactionReport> handle(const ConfirmRequest& request);
  Result<TransactionReport> handle(const RollBackRequest& request);
  Result<TransactionReport> handle(const ExtendRequest& request);
  Result<ProbeReply> handle(const ProbeRequest& request) const;
  Result<HistoryReply> handle(const HistoryRequest& request) const;
  Result<UndoReply> handle(const UndoRequest& request) const;
  Result<OpenReceiverReply> handle(const OpenReceiverRequest& request);
  Result<CloseReceiverReply> handle(const CloseReceiverRequest& request);
  Result<void> handle(const SendDatagramsRequest& request) const;
  Result<MeasureTcpReply> handle(const MeasureTcpRequest& request) const;
  Result<void> handle(const StartLinkProbeRequest& request);
  Result<void> handle(const SendLinkProbesRequest& request);
  Result<ReadLinkProbesReply> handle(const ReadLinkProbesRequest& request);
  Result<SshLoginReply> handle(const SshLoginRequest& request) const;
  Result<ReadStorageReply> handle(const ReadStorageRequest& request) const;
  Result<GpuErrorsReply> handle(const GpuErrorsRequest& request) const;
  Result<MeasurementsReply> handle(const MeasurementsRequest& request);
  Result<MeasurementHistoryReply> handle(const MeasurementHistoryRequest& request) const;
  Result<RdmaEndpoint> handle(const RdmaOpenRequest& request);
  Result<void> handle(const RdmaConnectRequest& request);
  Result<RdmaWriteReply> handle(const RdmaWriteRequest& request);
  Result<RdmaLatencyReply> handle(const RdmaLatencyRequest& request);
  Result<RdmaCountersReply> handle(const RdmaCountersRequest& request) const;
  Result<void> handle(const RdmaCloseRequest& request);

  /// Errors: kUnsupported in a directory tree.
  Result<void> check_measurable() const;
  /// Errors: kBusy, which names the job.
  Result<void> check_no_job(bool ignored) const;
  Result<ApplyReply> try_out(const ApplyRequest& request);
  ObservedState observe(const ObserveNodeRequest& request) const;
  void see_files_on_trial();
  Result<OfferedManifest> check_records(const FactsRequest& request);
  Result<std::optional<TransactionReport>> latest_transaction() const;
  Result<void> settle_transaction(const LockHolder& holder);
  Result<bool> roll_back(Transaction& transaction, const std::string& reason);
  Result<void> end_overdue(Transaction& transaction);
  Result<std::vector<std::string>> end_failed_trial(Transaction& transaction, bool armed);
  static tl::unexpected<Error> needs_lock();
  Result<Journal> begin_run(const std::string& run, bool finished, Manifest& manifest);
  Result<void> note_saved_plan(const std::string& run, bool finished, Manifest& manifest) const;
  void drop_unused_artifacts(Manifest& manifest) const;
  Result<Manifest> manifest_to_change(const std::string& node_name, const Roster& roster,
                                      const std::string& accepted_uuid) const;

  const Registry& registry_;
  LocalNode node_;
  std::function<bool()> stop_asked_;
  std::function<void(std::string_view)> tell_;
  /// Without the lock.
  std::chrono::milliseconds patience_{kLongestAgentPatienceMs};
  std::optional<NodeLock> lock_;
  LockHolder holder_;                          ///< The holder of `lock_`.
  RunPurpose purpose_;                         ///< The purpose of the run that took the lock.
  std::unique_ptr<RdmaEnds> rdma_;             ///< Null: nothing was measured yet.
  std::unique_ptr<TrafficReceiver> receiver_;  ///< Null: none is open.
  std::optional<LinkProbe> link_probe_;
  std::string probed_as_;  ///< The node's name in the probes that `link_probe_` has sent.
  std::unique_ptr<RollbackTimer> timer_ = std::make_unique<SystemdRollbackTimer>();
};

}  // namespace sparkplan
