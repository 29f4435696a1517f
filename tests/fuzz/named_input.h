#pragma once

#include <cstddef>
#include <cstdint>

namespace sparkplan::fuzz {

/// For LLVMFuzzerCustomMutator() of targets whose inputs are a line, which says what follows, and that. Mostly
/// the line stays. Behind it the bytes are changed as libFuzzer changes any, or by spoil(): with `json` as a
/// tree, else as a text.
std::size_t mutate_named_input(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed, bool json);

}  // namespace sparkplan::fuzz
