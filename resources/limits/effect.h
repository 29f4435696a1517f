#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

namespace sparkplan::limits {

/// No login starts later; also getent's deadline.
inline constexpr std::chrono::seconds kLongestLook{30};

/// I/O, read-only. Logs in once per user with limits of their own, and once for "*" as the first ordinary user. Reports
/// every limit that such a login does not get, with the reason. Also reports limits that sshd sets for no login.
/// Groups, and items without a soft and hard value, are not tested. Users whose login would begin after `longest_look`
/// are reported as not checked.
std::vector<Ineffective> limits_not_effective(const ValuesByName& desired, const NodeReader& node,
                                              std::chrono::milliseconds longest_look = kLongestLook);

}  // namespace sparkplan::limits
