#pragma once

#include <string>

#include "engine/copy/digest_index.h"
#include "engine/copy/tree.h"
#include "engine/core/result.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// Removes files and links that syncs have brought to the tree, as far as they are what the index says, and the
/// directories that syncs have made, as far as they are empty then. Without `remove` it only counts.
/// Errors: kFailed (a file cannot be removed).
Result<CopyPruned> prune(const Tree& tree, const DigestIndex& index, bool remove);

}  // namespace sparkplan::copy
