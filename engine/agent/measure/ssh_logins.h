#pragma once

#include <functional>

#include "engine/core/result.h"
#include "engine/node/node.h"
#include "engine/wire/measure_messages.h"

namespace sparkplan {

/// Tries the logins one after the other, as the user, with this node's ssh and its settings. After a stop, the
/// remaining logins count as failed. Errors: kNotFound (no runuser or no ssh), kUnsupported when the node is not live.
Result<SshLoginReply> try_logins(const SshLoginRequest& request, const NodeReader& node,
                                 const std::function<bool()>& stop_asked);

}  // namespace sparkplan
