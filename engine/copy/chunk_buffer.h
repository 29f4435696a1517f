#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace sparkplan::copy {

/// Memory for the bytes of a chunk. The caller fills all of it: it may contain an earlier chunk. The memory of whole
/// chunks is used again, because new memory costs almost as much as the digest: the kernel clears each of its pages.
std::shared_ptr<std::vector<char>> chunk_buffer(std::size_t size);

}  // namespace sparkplan::copy
