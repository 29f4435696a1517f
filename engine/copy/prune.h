#pragma once

#include <string>

#include "engine/copy/digest_index.h"
#include "engine/copy/tree.h"
#include "engine/core/result.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// Removes the files and links that syncs have brought to the tree and that are still what the index says. Then it
/// removes the empty directories that syncs have made, and the unfinished files. If one of those directories stays, the
/// journal of unfinished files does, too. Without `remove` it only counts.
/// Errors: kFailed (a file cannot be removed).
Result<CopyPruned> prune(const Tree& tree, const DigestIndex& index, bool remove);

}  // namespace sparkplan::copy
