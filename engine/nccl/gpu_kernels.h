#pragma once

#include <string>

/// The programs of the GPU test, as PTX: the driver compiles them for its GPU when they are loaded.
/// Source: NVIDIA, Parallel Thread Execution ISA.
namespace sparkplan::gpu {

/// Independent chains of multiply-adds of one thread, and all multiply-adds of one round.
inline constexpr int kChains = 8;
inline constexpr int kStepsPerRound = 64;

/// The text of the module, for every GPU since Turing (sm_75). It has two kernels:
/// - `sparkplan_load(results, rounds)` calculates in registers only. Each thread writes one FP32 number, which depends
///   on its place in its block and on `rounds` alone: all blocks have the same results.
/// - `sparkplan_copy(to, from, count)` copies `count` times 16 bytes.
std::string kernels();

inline constexpr const char* kLoadKernel = "sparkplan_load";
inline constexpr const char* kCopyKernel = "sparkplan_copy";

}  // namespace sparkplan::gpu
