#pragma once

#include <functional>
#include <memory>
#include <optional>

#include "engine/agent/kernel/rdma_ends.h"
#include "engine/agent/measure/link_probe.h"
#include "engine/agent/measure/traffic_receiver.h"
#include "engine/agent/node/local_node.h"
#include "engine/agent/state/journal.h"
#include "engine/agent/state/node_lock.h"
#include "engine/agent/trial/rollback_timer.h"
#include "engine/agent/trial/transaction.h"
#include "engine/core/result.h"
#include "engine/resource/registry.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// Answers one controller's requests. Knows nothing of streams or frames.
class AgentSession {
 public:
  /// `stop_asked` is called between the steps of an apply, `tell` before each of them.
  AgentSession(const Registry& registry, LocalNode node, std::function<bool()> stop_asked,
               const std::function<void(std::string_view)>& tell);

  Result<Value> answer(const Request& request);
  bool holds_lock() const { return lock_.has_value(); }

 private:
  Result<Value> answer_facts(const FactsRequest& request);
  ObservedState observe(const std::map<std::string, std::vector<std::string>>& names) const;
  Result<Value> answer_effect(const EffectRequest& request);
  Result<Value> answer_lock(const LockRequest& request);
  Result<Value> answer_apply(const ApplyRequest& request);
  Result<Value> answer_commit(const CommitRequest& request);
  Result<Value> answer_release(const ReleaseRequest& request);
  Result<Value> answer_trial(const ApplyRequest& request);
  Result<Value> answer_transaction() const;
  Result<Value> answer_confirm(const ConfirmRequest& request);
  Result<Value> answer_roll_back(const RollBackRequest& request);
  Result<Value> answer_extend(const ExtendRequest& request);
  Result<Value> answer_probe(const ProbeRequest& request) const;
  /// Nothing for a request that is not about RDMA.
  std::optional<Result<Value>> answer_rdma(const Request& request);
  static tl::unexpected<Error> no_rdma();
  Result<Value> answer_open_ear(const OpenEarRequest& request);
  Result<Value> answer_close_ear(const CloseEarRequest& request);
  std::optional<Result<Value>> answer_about_cables(const Request& request);
  Result<Value> answer_send_datagrams(const SendDatagramsRequest& request) const;
  Result<Value> answer_measure_tcp(const MeasureTcpRequest& request) const;
  Result<Value> answer_ssh_login(const SshLoginRequest& request) const;
  Result<Value> answer_read_storage(const ReadStorageRequest& request) const;
  Result<Value> answer_measurements(const MeasurementsRequest& request);
  void see_files_on_trial();
  Result<std::optional<Manifest>> check_records(bool set_aside);
  Result<std::optional<TransactionReport>> latest_transaction() const;
  Result<void> settle_transaction(const LockHolder& holder);
  Result<void> end_failed_trial(Transaction& transaction, bool armed);
  static tl::unexpected<Error> needs_lock();
  Result<Value> answer_history(const HistoryRequest& request);
  Result<Value> answer_undo(const UndoRequest& request);
  Result<Value> answer_break_lock(const BreakLockRequest& request);
  Result<Journal> journal_of(const std::string& run, const Manifest& manifest);
  Result<void> note_saved_plan(const std::string& run, bool finished, Manifest& manifest) const;
  void drop_unused_artifacts(Manifest& manifest) const;
  Result<Manifest> manifest_to_change(const std::string& node_name, const Roster& roster) const;

  const Registry& registry_;
  LocalNode node_;
  std::function<bool()> stop_asked_;
  std::function<void(std::string_view)> tell_;
  std::optional<NodeLock> lock_;
  LockHolder holder_;                          ///< Of `lock_`.
  RunPurpose purpose_;                         ///< Of the run that it was taken for.
  std::unique_ptr<RdmaEnds> rdma_;             ///< Null: nothing was measured yet.
  std::unique_ptr<TrafficReceiver> receiver_;  ///< Null: none is open.
  std::optional<LinkProbe> link_probe_;
  std::string called_as_;  ///< What `link_probe_` have called.
  std::unique_ptr<RollbackTimer> timer_ = std::make_unique<SystemdRollbackTimer>();
};

}  // namespace sparkplan
