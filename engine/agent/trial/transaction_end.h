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
  kFilesOnly,  ///< Early at boot: no program runs yet that would have to reload them.
};

/// Puts everything back that a transaction which was claimed as rolled back has written: files first, then
/// what makes them take effect. May be called again after a crash. A file that others have changed
/// since is left as it is, and named in the transaction's reason.
/// Errors: what could not be put back; the record stays, with the commands that a person would have to type.
Result<void> undo(Transaction& transaction, UndoScope scope, const Registry& registry, LocalNode& node,
                  RollbackTimer& timer);

/// Makes permanent what a transaction that was claimed as committed has written, and records it in the manifest.
/// May be called again after a crash. Then nothing is left of the transaction.
Result<void> finish(Transaction& transaction, const Registry& registry, LocalNode& node, RollbackTimer& timer);

/// `agent --rollback RUN`: the window has ended, or a person retries a failed rollback. Does nothing when the
/// change was confirmed in time.
Result<void> roll_back_by_timer(const std::string& run, const Registry& registry, LocalNode& node,
                                RollbackTimer& timer);

/// `agent --recover RUN`: at boot, before there is a network.
Result<void> recover_at_boot(const std::string& run, const Registry& registry, LocalNode& node, RollbackTimer& timer);

}  // namespace sparkplan
