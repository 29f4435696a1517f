#pragma once

#include <string>

#include "engine/agent/node/local_node.h"
#include "engine/agent/trial/rollback_timer.h"
#include "engine/agent/trial/transaction.h"
#include "engine/core/result.h"
#include "engine/resource/registry.h"

namespace sparkplan {

/// How much of a transaction is undone.
enum class UndoScope : std::uint8_t {
  kAll,
  kFilesOnly,  ///< Early at boot: no program that would have to reload them runs yet.
};

/// Restores everything that a transaction claimed as rolled back has written: files first, then their activations. It
/// may be called again after a crash. A file that other software has changed since is left unchanged, and the
/// transaction's reason names it.
/// Errors: what could not be restored. The record stays, with the commands that a person would have to type.
Result<void> undo(Transaction& transaction, UndoScope scope, const Registry& registry, LocalNode& node,
                  RollbackTimer& timer);

/// Makes permanent what a transaction claimed as committed has written, and records it in the manifest. It may be
/// called again after a crash. Nothing remains of the transaction.
Result<void> finish(Transaction& transaction, const Registry& registry, LocalNode& node, RollbackTimer& timer);

/// `agent --rollback RUN`: the window has ended, or a person retries a failed rollback. It does nothing if the change
/// was confirmed in time.
Result<void> roll_back_by_timer(const std::string& run, const Registry& registry, LocalNode& node,
                                RollbackTimer& timer);

/// `agent --forget RUN`: a person has repaired what a rollback could not restore, or leaves it as it is. The record
/// goes, so that later runs begin again. Errors: kNotFound without a record of that run; kBusy while the rollback is
/// tried again; kRefused for a change on trial and for one that ended otherwise.
Result<void> forget_failed_rollback(const std::string& run, const Registry& registry, LocalNode& node,
                                    RollbackTimer& timer);

/// `agent --recover RUN`: at boot, before the network.
Result<void> recover_at_boot(const std::string& run, const Registry& registry, LocalNode& node, RollbackTimer& timer);

}  // namespace sparkplan
