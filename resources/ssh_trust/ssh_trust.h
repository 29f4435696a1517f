#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "engine/resource/resource_type.h"

/// Logins between nodes: `ssh_trust: {users: [nvidia]}`. Every node makes a key of its own for each
/// user; only public keys travel.
namespace sparkplan::ssh_trust {

inline constexpr std::string_view kKnownHostsFile = "/etc/ssh/ssh_known_hosts";
inline constexpr std::string_view kConfigFile = "/etc/ssh/ssh_config.d/60-sparkplan.conf";

/// The fields of a resource. All are flat, so that each can be Unknown by itself.
inline constexpr std::string_view kKeyField = "key";                   ///< "ed25519 sparkplan:lab:spark-01"
inline constexpr std::string_view kAuthorizedPrefix = "authorized.";   ///< + node: that node's line.
inline constexpr std::string_view kUnexpectedField = "unexpected";     ///< Lines in our block that nobody asked for.
inline constexpr std::string_view kKnownHostsPrefix = "known_hosts.";  ///< + node: the list of its lines.
inline constexpr std::string_view kConfigField = "config";             ///< Where ssh uses our key, as a list.
/// Instead of all others: why nothing is done about this user, whatever is there.
inline constexpr std::string_view kRefusedField = "refused";

/// True for the fields that are about one node.
bool is_of_a_node(std::string_view field);

/// An Unknown that nobody is going to make known in this run: whatever is there settles it.
Value settled_by_what_is_there(std::string reason);
bool is_settled_by_what_is_there(const Value& value);

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json);

}  // namespace sparkplan::ssh_trust
