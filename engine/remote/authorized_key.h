#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/transport/transport.h"

namespace sparkplan {

/// The public key of the first of the user's usual key pairs in ~/.ssh, as a line of authorized_keys.
/// Errors: kNotFound when none exists.
Result<std::string> own_public_key();

/// Adds the line to ~/.ssh/authorized_keys of the login user, unless the file already contains it. A missing file or
/// directory is created. Errors: kFailed with the node's error message, kUnreachable.
Result<void> authorize_key(Connection& connection, const std::string& public_key);

}  // namespace sparkplan
