#pragma once

#include <cstddef>
#include <cstdint>

namespace sparkplan::fuzz {

/// For LLVMFuzzerCustomMutator() of targets whose input is a line that names its kind, and a body. The line mostly
/// stays the same. The body is changed by libFuzzer's own mutations or by spoil(): with `json` as a tree, else as a
/// text.
std::size_t mutate_named_input(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed, bool json);

}  // namespace sparkplan::fuzz
