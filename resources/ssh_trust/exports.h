#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/node/node.h"

// Every node exports public keys and addresses to all others, but no secrets.
namespace sparkplan::ssh_trust {

/// The login names of a section, each with its position.
std::vector<Value> users_of(const Value& section);

/// {users: {USER: {public_key, makes_key, root, home}}, host_keys: ["TYPE BASE64"], addresses: ["10.0.0.11"]}
/// A user has `public_key` if the key exists, `makes_key` if an apply can make one, and neither if an error prevents
/// both. `root`: the user is root, or has no key yet and may become root without a password. `home` is describe_home().
/// `addresses` are most_useful_addresses(). Everything is within the limits below. Null without users, or if the node
/// is not live(). Errors: those of reading the host keys.
Result<Value> export_trust(const Value& section, const NodeReader& node);

// The limits of one node's export. Exported values go into files of all other nodes, and those files are read with a
// size limit. A node that could fill them would keep all nodes from removing lines.
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
