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

/// Where changes on trial are kept: /var/lib/sparkplan/txn/RUN, one at a time.
inline constexpr const char* kTransactionsDirectory = "/var/lib/sparkplan/txn";

/// A change that may cut the node off, with everything that undoing or finishing it takes, on the disk
/// before its first act. The first rename of its token file `armed` decides whether it stays: to
/// `committed` or to `rolledback`.
class Transaction {
 public:
  /// The one there is; none is no failure. Errors: kFailed for a record that cannot be read: it is named,
  /// and nothing is guessed.
  static Result<std::optional<Transaction>> find(const LocalNode& node);

  /// Moves one whose record cannot be read out of the way; where to.
  static Result<std::filesystem::path> set_aside(const LocalNode& node);

  /// Writes the record and a copy of the running agent, which the timer will start. Not armed yet.
  /// Errors: kBusy when there is one already; those of writing.
  static Result<Transaction> prepare(const ApplyRequest& request, const LockHolder& holder, LocalNode& node);

  const std::string& run() const { return request_.run; }
  const ApplyRequest& request() const { return request_; }
  const LockHolder& holder() const { return holder_; }
  std::filesystem::path directory() const { return std::filesystem::path(kTransactionsDirectory) / run(); }
  std::filesystem::path program() const { return directory() / "agent"; }

  /// Errors: as looking at files.
  Result<TransactionState> state(const LocalNode& node) const;
  Result<TransactionReport> report(const LocalNode& node) const;

  Result<void> arm(LocalNode& node);
  /// The window ends that long from now; for those who ask. Source: clock_gettime(2), CLOCK_BOOTTIME.
  Result<void> set_deadline(std::chrono::seconds window, LocalNode& node);
  /// Decides it: true for exactly one of all who ever call this. `to` is kCommitted or kRolledBack.
  Result<bool> claim(TransactionState to, const LocalNode& node);
  Result<void> mark_rollback_failed(const LocalNode& node);

  /// All steps are done and shown.
  Result<void> note_carried_out(LocalNode& node);
  Result<void> note_reason(const std::string& reason, LocalNode& node);
  /// What the node is reached by before the change; nothing where that was not kept.
  Result<void> keep_snapshot(const ConnectivitySnapshot& snapshot, LocalNode& node);
  std::optional<ConnectivitySnapshot> snapshot(const LocalNode& node) const;
  Result<void> note_undone(LocalNode& node);
  bool is_undone(const LocalNode& node) const;
  /// For each file of the record, its content from before, to be copied back by hand.
  Result<void> keep_manual_commands(const std::vector<std::string>& commands, LocalNode& node);

  /// Held while steps are carried out, so that undoing waits for the current step.
  Result<FileDescriptor> begin_work(LocalNode& node) const;
  /// Waits until it is free, and then holds it; a holder is killed after `patience`. Nothing when
  /// the transaction is gone by then.
  Result<std::optional<FileDescriptor>> take_over_work(std::chrono::milliseconds patience, LocalNode& node) const;

  Result<void> remove(LocalNode& node) const;

  /// From now on the node sees files on trial at their volatile twins.
  void stage_files(const Registry& registry, LocalNode& node) const;

 private:
  Transaction(ApplyRequest request, LockHolder holder) : request_(std::move(request)), holder_(std::move(holder)) {}
  bool is_worked_on(const LocalNode& node) const;
  Result<void> sign_work(const FileDescriptor& file) const;
  bool has(std::string_view name, const LocalNode& node) const;

  ApplyRequest request_;
  LockHolder holder_;
};

/// Where a file artifact of a type waits while it is on trial; nothing for one that is written in place.
std::optional<StagedFile> staged_file(const Step& step, const Registry& registry);

}  // namespace sparkplan
