#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// Where the lock of a live node is.
inline constexpr const char* kLockDirectory = "/run/sparkplan";

/// The right to change this node. The kernel gives it back when the agent ends, however it ends.
/// Source: fcntl(2), open file description locks.
class NodeLock {
 public:
  /// Errors: kBusy with the holder's description; kPermissionDenied, kFailed.
  static Result<NodeLock> acquire(const LockHolder& holder, LocalNode& node);

 private:
  explicit NodeLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

/// When a process began, in clock ticks since boot: with its number it names one process for ever. 0 when there is
/// none. Source: proc_pid_stat(5), field 22.
std::uint64_t start_of_process(std::int64_t process);

/// The agent that holds a lock, on whose behalf, as the lock's file names it.
struct LockingAgent {
  LockHolder holder;
  std::int64_t process = 0;   ///< Of the agent, on the node. 0: the file does not say.
  std::uint64_t started = 0;  ///< start_of_process()
};

/// Nothing while the lock is free. Errors: kPermissionDenied, kFailed.
Result<std::optional<LockingAgent>> locking_agent(const LocalNode& node);

/// The holder of the lock. Errors: kPermissionDenied, kFailed.
Result<std::optional<LockHolder>> lock_holder(const LocalNode& node);

/// Ends the agent that holds the node's lock, and no other process: the one that the lock's file names
/// by process id and start time, if it is an agent. Returns when the lock is free.
/// Errors: kNotFound (it is free), kBusy (another run holds it by now), kRefused (a network change
/// is open, or what holds it is no agent), kUnreachable (it did not end), kPermissionDenied.
Result<void> break_lock(const BreakLockRequest& request, const LocalNode& node);

}  // namespace sparkplan
