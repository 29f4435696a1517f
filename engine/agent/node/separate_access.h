#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "engine/core/result.h"
#include "engine/node/node.h"

namespace sparkplan {

/// For in_separate_process(): no descriptor is needed.
inline constexpr int kNoDescriptor = -1;

/// The result of an access to a file in a home. Empty after an access that writes.
struct HomeAnswer {
  FileStatus status = {};
  std::string bytes = {};
};

/// Has a copy of this process do the work, and returns its answer. A system call that waits for a server without an
/// answer ends only with its process: at the deadline the copy is killed, and so it makes no later change. It has the
/// descriptor `needed`, and no other one: a copy that the kernel does not let end holds neither the lock nor the
/// connection of this process.
/// Errors: those of the work; is_missed_deadline(); kFailed (no process could be made, or it ended early).
Result<HomeAnswer> in_separate_process(const std::function<Result<HomeAnswer>()>& work, int needed,
                                       std::chrono::milliseconds deadline);

/// True for the error of in_separate_process() at its deadline. An access that fails has an errno: a server, also a
/// program of a user, can answer with one that means kUnreachable.
inline bool is_missed_deadline(const Error& error) { return error.code == ErrorCode::kUnreachable && !error.sys_errno; }

}  // namespace sparkplan
