#pragma once

#include "engine/core/result.h"
#include "engine/core/value.h"

namespace sparkplan {

/// Pure. An error in the JSON of every command: code, message, hint.
Value to_json_value(const Error& error);

}  // namespace sparkplan
