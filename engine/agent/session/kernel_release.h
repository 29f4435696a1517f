#pragma once

#include <string_view>

#include "engine/core/result.h"

namespace sparkplan {

/// The oldest kernel under which the agent can start programs: pidfd_open() exists since Linux 5.3.
/// Source: pidfd_open(2).
inline constexpr int kOldestKernel[] = {5, 3};

/// Checks a kernel's release as uname(2) gives it, such as "6.1.0-18-amd64". A release without two numbers passes: the
/// system calls themselves fail then.
/// Errors: kUnsupported for a kernel older than kOldestKernel, with both releases.
Result<void> check_kernel(std::string_view release);

}  // namespace sparkplan
