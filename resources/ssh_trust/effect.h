#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/resource/resource_type.h"

namespace sparkplan::ssh_trust {

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
