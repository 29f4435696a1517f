#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "engine/resource/resource_type.h"

namespace sparkplan::ssh_trust {

/// What `sshd -T` prints: keyword in lower case to its values, one for each line.
using ServerSettings = std::multimap<std::string, std::string>;
ServerSettings parse_server_settings(std::string_view text);

/// Pure. Why this sshd does not let the user in by the keys in ~/.ssh/authorized_keys; empty when
/// nothing speaks against it. Source: sshd_config(5).
std::string why_refused(const ServerSettings& settings, const std::string& user,
                        const std::vector<std::string>& groups);

/// Pure. True if this ssh_config reads our file: an Include before the first Host or Match.
bool includes_our_file(std::string_view ssh_config);

/// What stands against a login of each user although everything is in place.
std::vector<Ineffective> find_ineffective(const std::map<std::string, Value>& desired, const NodeReader& node);

}  // namespace sparkplan::ssh_trust
