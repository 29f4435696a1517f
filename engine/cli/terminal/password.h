#pragma once

#include <stop_token>
#include <string>

#include "engine/core/result.h"
#include "engine/remote/keys/secret.h"

namespace sparkplan {

/// Asks for a password on the controlling terminal, without echo. Errors: kFailed when there is no terminal;
/// kInterrupted at a stop; those of Secret::read_line().
Result<Secret> ask_password(const std::string& prompt, const std::stop_token& stop = {});

}  // namespace sparkplan
