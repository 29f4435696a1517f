#pragma once

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "engine/core/text.h"
#include "engine/model/host_facts.h"

/// Releases of the kernel with known faults.
namespace sparkplan {

/// NVIDIA's kernel, and Ubuntu's hardware enablement kernel; 7.0.0-30 does not have the fault. Sources: NVIDIA
/// NV-Kernels PRs 590 and 591, MiaAI-Lab DeepSeek-v4-Flash-DSpark-2x-DGX-Spark issue 259.
inline constexpr std::array<std::string_view, 2> kKernelsThatLoseMemory{"7.0.0-1019-", "7.0.0-31-"};
/// Their hot-plug driver switches the ConnectX-7 off. Source: NVIDIA's developer forum, t/374275.
inline constexpr std::array<std::string_view, 2> kKernelsThatLoseTheAdapter{"6.17.0-1021-", "6.17.0-1029-"};

/// True if the release begins with one of `releases`.
inline bool is_one_of(std::string_view release, std::span<const std::string_view> releases) {
  return std::any_of(releases.begin(), releases.end(), [&](auto start) { return release.starts_with(start); });
}

/// Handover between kernels, which uses up the contiguous memory, is switched off.
inline bool without_handover(const HostFacts& host) {
  const auto words = split(host.kernel_command_line, ' ');
  return std::any_of(words.begin(), words.end(), [](auto word) { return word == "kho=off" || word == "kho=0"; });
}

}  // namespace sparkplan
