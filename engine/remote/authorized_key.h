#pragma once

#include <string>

#include "engine/core/result.h"
#include "engine/model/cluster.h"
#include "engine/remote/transport.h"

namespace sparkplan {

/// The public key of the first of the user's usual key pairs in ~/.ssh, as a line of authorized_keys has it.
/// Errors: kNotFound when there is none.
Result<std::string> own_public_key();

/// Puts the line into ~/.ssh/authorized_keys of the user who is logged in, unless it stands there already; the file
/// and its directory are made where they are missing. Errors: kFailed with what the machine said, kUnreachable.
Result<void> authorize_key(Connection& connection, const std::string& public_key);

}  // namespace sparkplan
