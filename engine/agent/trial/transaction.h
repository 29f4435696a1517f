#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/local_node.h"
#include "engine/agent/trial/connectivity_snapshot.h"
#include "engine/core/result.h"
#include "engine/resource/registry.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// The directory of changes on trial: /var/lib/sparkplan/txn/RUN, one at a time.
inline constexpr const char* kTransactionsDirectory = "/var/lib/sparkplan/txn";

/// A disruptive change on trial. Everything needed to undo or finish it is on the disk before its first step. The first
/// rename of its token file `armed` decides: to `committed` it stays, to `rolledback` it is undone.
class Transaction {
 public:
  /// The current transaction; none is no failure. Errors: kFailed for an unreadable record; the error names it, and
  /// nothing is guessed.
  static Result<std::optional<Transaction>> find(const LocalNode& node);

  /// Moves a transaction with an unreadable record away and returns its new path.
  static Result<std::filesystem::path> set_aside(const LocalNode& node);

  /// Writes the record and a copy of the running agent, which the timer will start. The transaction is not armed yet.
  /// Errors: kBusy when there is a transaction already; those of writing.
  static Result<Transaction> prepare(const ApplyRequest& request, const LockHolder& holder, LocalNode& node);

  const std::string& run() const { return request_.run; }
  const ApplyRequest& request() const { return request_; }
  const LockHolder& holder() const { return holder_; }
  std::filesystem::path directory() const { return std::filesystem::path(kTransactionsDirectory) / run(); }
  std::filesystem::path program() const { return directory() / "agent"; }

  /// Errors: those of reading file status.
  Result<TransactionState> state(const LocalNode& node) const;
  Result<TransactionReport> report(const LocalNode& node) const;

  /// True if the deadline has passed by more than a late timer would take.
  bool is_overdue(const LocalNode& node) const;

  Result<void> arm(LocalNode& node);
  /// The window ends after that time; stored for the reports. Source: clock_gettime(2), CLOCK_BOOTTIME.
  Result<void> set_deadline(std::chrono::seconds window, LocalNode& node);
  /// Decides the transaction: true for exactly one of all callers ever. `to` is kCommitted or kRolledBack.
  Result<bool> claim(TransactionState to, const LocalNode& node);
  Result<void> mark_rollback_failed(const LocalNode& node);

  /// All steps are done and verified.
  Result<void> note_carried_out(LocalNode& node);
  Result<void> note_reason(const std::string& reason, LocalNode& node);
  /// The connectivity before the change; nothing if it was not stored.
  Result<void> keep_snapshot(const ConnectivitySnapshot& snapshot, LocalNode& node);
  std::optional<ConnectivitySnapshot> snapshot(const LocalNode& node) const;
  /// The parts that the rollback has not restored: TransactionReport::not_restored.
  Result<void> note_not_restored(const std::vector<std::string>& parts, LocalNode& node);
  Result<void> note_undone(LocalNode& node);
  bool is_undone(const LocalNode& node) const;
  /// True while a process carries its steps out or undoes them.
  bool is_worked_on(const LocalNode& node) const;
  /// Stores commands that restore each file of the record by hand.
  Result<void> keep_manual_commands(const std::vector<std::string>& commands, LocalNode& node);

  /// Held while steps run, so that undoing waits for the current step.
  Result<FileDescriptor> begin_work(LocalNode& node) const;
  /// Waits until the work is free and then holds it; kills a holder after `patience`. Nothing if the transaction has
  /// been removed meanwhile.
  Result<std::optional<FileDescriptor>> take_over_work(std::chrono::milliseconds patience, LocalNode& node) const;

  Result<void> remove(LocalNode& node) const;

  /// From now on, the node reads files on trial at their volatile twins.
  void stage_files(const Registry& registry, LocalNode& node) const;

 private:
  Transaction(ApplyRequest request, LockHolder holder) : request_(std::move(request)), holder_(std::move(holder)) {}
  std::vector<std::string> lines_in(std::string_view name, const LocalNode& node) const;
  /// Negative after the deadline; nothing if none is set.
  std::optional<std::int64_t> seconds_left(const LocalNode& node) const;
  Result<void> sign_work(const FileDescriptor& file) const;
  bool has(std::string_view name, const LocalNode& node) const;

  ApplyRequest request_;
  LockHolder holder_;
};

/// The twin of a file artifact while it is on trial; nothing for a file that is written in place.
std::optional<StagedFile> staged_file(const Step& step, const Registry& registry);

}  // namespace sparkplan
