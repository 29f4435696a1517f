#pragma once

#include <cstddef>
#include <string>

#include "engine/core/value.h"

// How much a node may say of itself. What it says goes into files of all other nodes, which are read again with a
// bound: a node that could fill them would keep everybody from taking lines out.

namespace sparkplan::ssh_trust {

inline constexpr std::size_t kMostUsers = 100;  ///< As in the schema.
inline constexpr std::size_t kMostAddresses = 16;
inline constexpr std::size_t kMostHostKeys = 8;
inline constexpr std::size_t kLongestText = 4096;       ///< An RSA key of 16384 bits has 2,748.
inline constexpr std::size_t kMostHostKeyBytes = 8192;  ///< Of all its host keys.
inline constexpr std::size_t kMostExportBytes = std::size_t{256} << 10;
inline constexpr std::size_t kMostExportValues = 4096;
inline constexpr std::size_t kLongestHomeText = 256;  ///< What describes a home; a longer text is told by its digest.

/// Pure. Why nothing of this export is taken: "it lists 120000 addresses, and at most 16 are taken". Empty for one
/// within the limits, which export_trust() keeps to. Any Value will do.
std::string excess_of(const Value& exported);

}  // namespace sparkplan::ssh_trust
