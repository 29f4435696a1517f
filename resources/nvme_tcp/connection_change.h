#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/model/resource.h"
#include "engine/node/node.h"

namespace sparkplan::nvme_tcp {

/// What still uses a subsystem that is to be disconnected, as an Error.
Error in_use(const std::string& subsystem, const std::vector<std::string>& users);

/// I/O. Makes the connection be as `after` has it, whatever it is now. One that something uses is never taken
/// away. Errors: kRefused for one in use; what systemd, nvme and the kernel say of one that does not come about.
Result<void> make_connection(const std::string& subsystem, const Observation& after, Node& node);

}  // namespace sparkplan::nvme_tcp
