#pragma once

#include <string>
#include <vector>

#include "engine/core/value.h"
#include "engine/node/node.h"

// What every node tells all others: public keys and addresses, never anything secret.

namespace sparkplan::ssh_trust {

/// The login names of a section, each with its position.
std::vector<Value> users_of(const Value& section);

/// {users: {USER: {public_key, makes_key, root, home}}, host_keys: ["TYPE BASE64"], addresses: ["10.0.0.11"]}
/// A user has `public_key` when his key is there, `makes_key` when an apply can make one, and neither
/// when something is in the way; `root` when he is root or may become it without a password; `home` as
/// describe_home() has it. `addresses` are most_useful_addresses(). All of it keeps to export_limits.h. Null for a node
/// on which nothing runs. Errors: of reading the host keys.
Result<Value> export_trust(const Value& section, const NodeReader& node);

}  // namespace sparkplan::ssh_trust
