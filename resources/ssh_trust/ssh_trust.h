#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/resource/resource_type.h"

/// Logins between nodes: `ssh_trust: {users: [nvidia]}`. Every node makes its own key for each user; only public keys
/// travel.
namespace sparkplan::ssh_trust {

inline constexpr std::string_view kKnownHostsFile = "/etc/ssh/ssh_known_hosts";
inline constexpr std::string_view kConfigFile = "/etc/ssh/ssh_config.d/60-sparkplan.conf";

/// The fields of a resource. All are flat, so that each can be Unknown by itself.
inline constexpr std::string_view kKeyField = "key";                   ///< "ed25519 sparkplan:lab:spark-01"
inline constexpr std::string_view kAuthorizedPrefix = "authorized.";   ///< + node: that node's line.
inline constexpr std::string_view kUnexpectedField = "unexpected";     ///< Lines in our block that are not ours.
inline constexpr std::string_view kKnownHostsPrefix = "known_hosts.";  ///< + node: the list of its lines.
inline constexpr std::string_view kConfigField = "config";  ///< The destinations for which ssh uses our key, as a list.
/// Replaces `key`, `unexpected` and `config`: why nothing is done for this user, whatever the node has.
inline constexpr std::string_view kRefusedField = "refused";

/// True for the fields of one node.
bool is_of_a_node(std::string_view field);

/// An Unknown without a producer: this run does not resolve it, and the node's current value is accepted.
Value settled_by_what_is_there(std::string reason);

/// Pure. ResourceType::desired() of this type.
Desired desired_trust(const ClusterView& view, const Value& section);

/// The shapes of what a node may report: a user's trust, keys and blocks in the home, and exports.
ReportedShapes reported_trust();

/// The output of `sshd -T`: keyword in lower case to its values, one entry per line.
using ServerSettings = std::multimap<std::string, std::string>;
ServerSettings parse_server_settings(std::string_view text);

/// Pure. Why this sshd refuses the user's keys in ~/.ssh/authorized_keys; empty if no setting does. Source:
/// sshd_config(5).
std::string why_refused(const ServerSettings& settings, const std::string& user,
                        const std::vector<std::string>& groups);

/// Pure. True if this ssh_config reads our file: an Include before the first Host or Match.
bool includes_our_file(std::string_view ssh_config);

/// Settings outside of our files that prevent logins of the users in `desired`.
std::vector<Ineffective> find_ineffective(const ValuesByName& desired, const NodeReader& node);

}  // namespace sparkplan::ssh_trust
