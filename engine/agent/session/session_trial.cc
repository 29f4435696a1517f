// AgentSession: changes on trial, their confirmation and their end.
#include <algorithm>
#include <chrono>
#include <utility>

#include "engine/agent/apply/step_executor.h"
#include "engine/agent/measure/measurements.h"
#include "engine/agent/session/session.h"
#include "engine/agent/state/journal.h"
#include "engine/agent/trial/rollback_timer.h"
#include "engine/agent/trial/transaction_end.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

Result<Transaction> transaction_of(const std::string& run, const LocalNode& node) {
  SPARK_TRY(auto found, Transaction::find(node));
  if (found && found->run() == run) return *std::move(found);
  return failure(ErrorCode::kNotFound, "no change of run " + run + " waits for confirmation");
}

/// Arms the transaction when everything else is ready, and reports whether its window is still open.
class ArmedTrial final : public StepTrial {
 public:
  ArmedTrial(Transaction& transaction, std::chrono::seconds window, const Registry& registry, Journal& journal,
             LocalNode& node, RollbackTimer& timer)
      : transaction_(transaction),
        window_(window),
        registry_(registry),
        journal_(journal),
        node_(node),
        timer_(timer) {}

  Result<void> arm() override {
    SPARK_CHECK(journal_.append("armed", Value::map({{"window_seconds", window_.count()}})));
    SPARK_CHECK(check_that_it_can_last());
    SPARK_CHECK(timer_.guard_boot(transaction_.run(), transaction_.program(), node_));
    SPARK_TRY(const ConnectivitySnapshot snapshot, read_snapshot(transaction_.request().steps, node_));
    SPARK_CHECK(transaction_.keep_snapshot(snapshot, node_));
    SPARK_CHECK(transaction_.set_deadline(window_, node_));
    // The timer first: an armed change without one would stay until a person ends it. A timer that finds no armed
    // change does nothing, so the window must still be open after that.
    SPARK_CHECK(timer_.start(transaction_.run(), transaction_.program(), window_, node_));
    SPARK_CHECK(transaction_.arm(node_));
    armed_ = true;
    SPARK_TRY(const auto report, transaction_.report(node_));
    if (report.seconds_left <= 0) return failure(ErrorCode::kFailed, "the window ended before the change began");
    transaction_.stage_files(registry_, node_);
    return {};
  }

  /// A file that is tried in /run must fit, and be writable, at its permanent path.
  Result<void> check_that_it_can_last() {
    for (const Step& step : transaction_.request().steps) {
      const auto staged = staged_file(step, registry_);
      if (!staged) continue;
      SPARK_CHECK(node_.check_replaceable(staged->path, content_of(step.after).value_or("")));
    }
    return {};
  }

  bool goes_on() const override {
    const auto state = transaction_.state(node_);
    return state && *state == TransactionState::kArmed;
  }

  bool armed() const { return armed_; }

 private:
  Transaction& transaction_;
  std::chrono::seconds window_;
  const Registry& registry_;
  Journal& journal_;
  LocalNode& node_;
  RollbackTimer& timer_;
  bool armed_ = false;
};

}  // namespace

/// During a trial, every reader sees the files on trial.
void AgentSession::see_files_on_trial() {
  auto found = Transaction::find(node_);
  if (!found || !*found) return;  // The facts report an unreadable transaction.
  const auto state = (*found)->state(node_);
  if (state && *state == TransactionState::kArmed) (*found)->stage_files(registry_, node_);
}

Result<std::optional<TransactionReport>> AgentSession::latest_transaction() const {
  SPARK_TRY(const auto found, Transaction::find(node_));
  if (!found) return std::optional<TransactionReport>();
  SPARK_TRY(auto report, found->report(node_));
  if (report.state == TransactionState::kBegun) return std::optional<TransactionReport>();
  return std::optional(std::move(report));
}

/// A trial of another holder blocks this run; an ended trial is cleaned up.
Result<void> AgentSession::settle_transaction(const LockHolder& holder) {
  SPARK_TRY(auto found, Transaction::find(node_));
  // A transaction that ended when its last file was removed may have left the directory.
  if (!found) return node_.remove_directory(kTransactionsDirectory);
  SPARK_TRY(const auto report, found->report(node_));
  switch (report.state) {
    case TransactionState::kArmed:
      if (found->holder() == holder) return {};
      if (found->is_overdue(node_)) return end_overdue(*found);
      return failure(ErrorCode::kBusy,
                     "a change of " + found->holder().describe() + " waits for confirmation for at most " +
                         std::to_string(report.seconds_left + 1) + " s",
                     "wait for it, or set --lock-timeout");
    case TransactionState::kCommitted:
      return finish(*found, registry_, node_, *timer_);
    case TransactionState::kRolledBack:
    case TransactionState::kRollbackFailed:
      if (!found->is_undone(node_)) SPARK_CHECK(undo(*found, UndoScope::kAll, registry_, node_, *timer_));
      [[fallthrough]];
    case TransactionState::kBegun:
      SPARK_CHECK(timer_->stop(found->run(), node_));
      return found->remove(node_);
  }
  return {};
}

/// False if another one has ended the transaction before.
Result<bool> AgentSession::roll_back(Transaction& transaction, const std::string& reason) {
  SPARK_TRY(const bool ours, transaction.claim(TransactionState::kRolledBack, node_));
  if (!ours) return false;
  SPARK_CHECK(transaction.note_reason(reason, node_));
  SPARK_CHECK(undo(transaction, UndoScope::kAll, registry_, node_, *timer_));
  return true;
}

/// The timer has been lost, for example with a crash of systemd. A claim succeeds once, so it may still come.
Result<void> AgentSession::end_overdue(Transaction& transaction) {
  SPARK_TRY(const bool ours, roll_back(transaction, "not confirmed in time"));
  if (!ours) return failure(ErrorCode::kBusy, "a change is being rolled back", "wait for it, or set --lock-timeout");
  SPARK_CHECK(timer_->stop(transaction.run(), node_));
  return transaction.remove(node_);
}

Result<ApplyReply> AgentSession::try_out(const ApplyRequest& request) {
  if (!node_.live()) return failure(ErrorCode::kUnsupported, "a directory tree has no connection to cut off");
  SPARK_TRY(auto manifest, manifest_to_change(request.node, request.roster, request.accepted_uuid));
  SPARK_TRY(auto journal, begin_run(request.run, false, manifest));
  if (!request.secrets.empty()) return failure(ErrorCode::kBug, "a change on trial cannot contain a secret");
  // An earlier stage of this run may have kept its record.
  SPARK_CHECK(settle_transaction(holder_));
  ApplyRequest whole = request;
  // All or nothing: one group, whatever groups the types made.
  for (Step& step : whole.steps) step.group = "on trial";
  SPARK_TRY(auto transaction, Transaction::prepare(whole, holder_, node_));
  SPARK_TRY(auto work, transaction.begin_work(node_));
  ArmedTrial trial(transaction, std::chrono::seconds(request.window_seconds), registry_, journal, node_, *timer_);
  StepExecutor executor(registry_, node_, journal, stop_asked_, tell_);
  executor.put_on_trial(trial);
  auto reply = executor.carry_out(whole.steps, whole.after_steps, manifest);
  const bool all_done = reply && std::all_of(reply->results.begin(), reply->results.end(),
                                             [](const auto& result) { return result.outcome == StepOutcome::kDone; });
  if (all_done) {
    SPARK_CHECK(transaction.note_carried_out(node_));
    // The confirmation comes over another connection. This connection may be dead without our knowledge.
    lock_.reset();
    return reply;
  }
  { const auto released = std::move(work); }
  SPARK_TRY(auto not_restored, end_failed_trial(transaction, trial.armed()));
  if (reply) reply->not_restored = std::move(not_restored);
  return reply;
}

/// The executor has undone the steps in order; check the remaining state again. Returns what is not as before.
Result<std::vector<std::string>> AgentSession::end_failed_trial(Transaction& transaction, bool armed) {
  std::vector<std::string> not_restored;
  if (armed) {
    SPARK_TRY(const bool ours, roll_back(transaction, "a step failed"));
    if (!ours) return not_restored;  // The timer was faster, and does the same.
    SPARK_TRY(auto report, transaction.report(node_));
    not_restored = std::move(report.not_restored);
  }
  SPARK_CHECK(timer_->stop(transaction.run(), node_));
  // The connection may be lost by now. The record tells the next reader, and goes with the next lock.
  if (not_restored.empty()) SPARK_CHECK(transaction.remove(node_));
  return not_restored;
}

Result<std::optional<TransactionReport>> AgentSession::handle(const TransactionRequest& /*request*/) const {
  return latest_transaction();
}

Result<TransactionReport> AgentSession::handle(const ConfirmRequest& request) {
  if (!lock_) return needs_lock();
  SPARK_TRY(auto transaction, transaction_of(request.run, node_));
  SPARK_TRY(const bool ours, transaction.claim(TransactionState::kCommitted, node_));
  SPARK_TRY(auto report, transaction.report(node_));
  if (ours || report.state == TransactionState::kCommitted) {
    SPARK_CHECK(finish(transaction, registry_, node_, *timer_));
  }
  return report;
}

Result<TransactionReport> AgentSession::handle(const RollBackRequest& request) {
  SPARK_TRY(auto transaction, transaction_of(request.run, node_));
  SPARK_CHECK(roll_back(transaction, request.reason));
  return transaction.report(node_);
}

Result<TransactionReport> AgentSession::handle(const ExtendRequest& request) {
  SPARK_TRY(auto transaction, transaction_of(request.run, node_));
  constexpr std::int64_t kLongest = 3600;
  if (request.seconds < 1 || request.seconds > kLongest) return failure(ErrorCode::kInvalidInput, "invalid window");
  const std::chrono::seconds window(request.seconds);
  SPARK_CHECK(timer_->start(transaction.run(), transaction.program(), window, node_));
  SPARK_CHECK(transaction.set_deadline(window, node_));
  return transaction.report(node_);
}

Result<ProbeReply> AgentSession::handle(const ProbeRequest& request) const {
  if (!node_.live()) return failure(ErrorCode::kUnsupported, "a directory tree has no network");
  return probe(request);
}

}  // namespace sparkplan
