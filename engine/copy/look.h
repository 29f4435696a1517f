#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/copy/digest_index.h"
#include "engine/copy/tree.h"
#include "engine/core/result.h"
#include "engine/wire/copy_messages.h"

namespace sparkplan::copy {

/// Lists a tree with the digests that are known, in parts that fit into frames. With `read` it computes the others
/// first; `read_bytes` counts meanwhile.
/// Errors: those of Tree::list(); kStalePlan (a file changes while it is read), kFailed.
Result<CopyLooked> look(const Tree& tree, DigestIndex& index, const CopyLook& command,
                        std::atomic<std::int64_t>& read_bytes, const std::function<void(CopyEntries)>& emit);

}  // namespace sparkplan::copy
