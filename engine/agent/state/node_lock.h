#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "engine/agent/kernel/file_descriptor.h"
#include "engine/agent/node/local_node.h"
#include "engine/core/result.h"
#include "engine/wire/messages.h"

namespace sparkplan {

/// The directory of a live node's lock.
inline constexpr const char* kLockDirectory = "/run/sparkplan";

/// The right to change this node. The kernel releases it when the agent ends, even after a crash.
/// Source: fcntl(2), open file description locks.
class NodeLock {
 public:
  /// Errors: kBusy with the holder's description; kPermissionDenied, kFailed.
  static Result<NodeLock> acquire(const LockHolder& holder, LocalNode& node);

 private:
  explicit NodeLock(FileDescriptor file) : file_(std::move(file)) {}
  FileDescriptor file_;
};

/// The start time of a process, in clock ticks since boot. With its number it identifies one process for ever. 0 if
/// there is no such process. Source: proc_pid_stat(5), field 22.
std::uint64_t start_of_process(std::int64_t process);

/// The agent that holds a lock, and its controller's user, according to the lock's file.
struct LockingAgent {
  LockHolder holder;
  std::int64_t process = 0;   ///< The agent's process on the node. 0: the file does not name it.
  std::uint64_t started = 0;  ///< start_of_process()
};

/// Nothing if the lock is free. Errors: kPermissionDenied, kFailed.
Result<std::optional<LockingAgent>> locking_agent(const LocalNode& node);

/// The holder of the lock. Errors: kPermissionDenied, kFailed.
Result<std::optional<LockHolder>> lock_holder(const LocalNode& node);

/// Ends the agent that holds the node's lock, and no other process. The lock's file names it by process id and start
/// time; the process must be an agent. Returns when the lock is free.
/// Errors: kNotFound (the lock is free), kBusy (another run now holds it), kRefused (a network change is open, or the
/// holder is no agent), kUnreachable (the agent did not end), kPermissionDenied.
Result<void> break_lock(const BreakLockRequest& request, const LocalNode& node);

}  // namespace sparkplan
