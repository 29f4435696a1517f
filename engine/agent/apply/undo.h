#pragma once

#include "engine/agent/state/journal_reader.h"
#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/resource/registry.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// The steps that would undo a run. Each artifact that is still as the run left it gets a step back to its earlier
/// state. The order is last first, with steps of the network at the end. Artifacts that were changed since then stay.
/// Rollbacks and undone runs are skipped.
/// Errors: kNotFound for an unknown run; kInvalidInput when a damaged journal would have to be read; kUnsupported when
/// an older version did not journal enough.
Result<UndoReply> what_undoes(const UndoRequest& request, const Journals& journals, const Registry& registry,
                              const NodeReader& node);

}  // namespace sparkplan
