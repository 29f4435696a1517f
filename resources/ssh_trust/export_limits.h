#pragma once

#include <cstddef>
#include <string>

#include "engine/core/value.h"

// The limits of one node's export. Exported values go into files of all other nodes, and those files are read with a
// size limit. A node that could fill them would keep all nodes from removing lines.

namespace sparkplan::ssh_trust {

inline constexpr std::size_t kMostUsers = 100;  ///< As in the schema.
inline constexpr std::size_t kMostAddresses = 16;
inline constexpr std::size_t kMostHostKeys = 8;
inline constexpr std::size_t kLongestText = 4096;       ///< An RSA key of 16384 bits has 2,748.
inline constexpr std::size_t kMostHostKeyBytes = 8192;  ///< All host keys of a node together.
inline constexpr std::size_t kMostExportBytes = std::size_t{256} << 10;
inline constexpr std::size_t kMostExportValues = 4096;
inline constexpr std::size_t kLongestHomeText = 256;  ///< A longer text of a home is replaced by its digest.

/// Pure. Why this export is refused as a whole: "it lists 120000 addresses, and at most 16 are allowed". Empty if it is
/// within the limits, as results of export_trust() are. Accepts any Value.
std::string excess_of(const Value& exported);

}  // namespace sparkplan::ssh_trust
