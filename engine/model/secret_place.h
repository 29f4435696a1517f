#pragma once

#include <string_view>

namespace sparkplan {

/// The directory of the secret variables on a node. Below it is USER/NAME for each variable that a user has. Only that
/// user and root can read the file; the directories belong to root.
inline constexpr std::string_view kSecretVariables = "/etc/sparkplan/secrets";

}  // namespace sparkplan
