#pragma once

#include <cstddef>

#include "engine/core/result.h"

namespace sparkplan {

/// The error as each of `times` resources gets it. A node words it, and names thousands of resources for one artifact.
/// So that all copies together stay within two megabytes, a longer message is cut, without its places and its hint.
Error repeated_error(const Error& error, std::size_t times);

}  // namespace sparkplan
