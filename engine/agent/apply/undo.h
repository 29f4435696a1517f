#pragma once

#include "engine/agent/state/journal_reader.h"
#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/resource/registry.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// What would undo a run: for each artifact that still is as the run has left it, a step back to how it
/// was before, last first, but steps of the network at the end; what others have changed since is kept.
/// Rollbacks, and runs that one has undone, are passed over.
/// Errors: kNotFound for a run that there is none of; kInvalidInput when a journal that would have to be
/// read is damaged; kUnsupported when an older version has not written down what it takes.
Result<UndoReply> what_undoes(const UndoRequest& request, const Journals& journals, const Registry& registry,
                              const NodeReader& node);

}  // namespace sparkplan
