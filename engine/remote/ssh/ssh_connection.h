#pragma once

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/config/ssh_way.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan::ssh {

/// The way to a node with the configuration of `options`, for the user who runs this program. Errors: as way_to().
Result<SshWay> way_with(const NodeSpec& node, const ConnectOptions& options);

}  // namespace sparkplan::ssh
