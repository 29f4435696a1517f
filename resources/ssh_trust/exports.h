#pragma once

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
/// `addresses` are most_useful_addresses(). Everything is within export_limits.h. Null without users, or if the node is
/// not live(). Errors: those of reading the host keys.
Result<Value> export_trust(const Value& section, const NodeReader& node);

}  // namespace sparkplan::ssh_trust
