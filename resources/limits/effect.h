#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/node/node.h"
#include "engine/resource/resource_type.h"

namespace sparkplan::limits {

/// I/O, read-only. Logs in once for each user that has limits of his own, and once for "*" as the
/// first ordinary user there is, and names every limit that such a login does not get, with the
/// reason; also those that sshd would not set for anybody. Groups do not log in.
std::vector<Ineffective> limits_not_effective(const std::map<std::string, Value>& desired, const NodeReader& node);

}  // namespace sparkplan::limits
