#pragma once

#include <string>

#include "engine/core/result.h"

namespace sparkplan {

/// Asks on the controlling terminal without echo. Errors: kFailed when there is no terminal.
Result<std::string> ask_password(const std::string& prompt);

}  // namespace sparkplan
