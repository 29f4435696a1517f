#pragma once

#include <optional>

#include "engine/agent/local_node.h"
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

  NodeLock(NodeLock&& other) noexcept;
  NodeLock& operator=(NodeLock&&) = delete;
  ~NodeLock();

 private:
  explicit NodeLock(int file) : file_(file) {}
  int file_;
};

/// Who holds the lock; taken from nobody by asking. Errors: kPermissionDenied, kFailed.
Result<std::optional<LockHolder>> lock_holder(const LocalNode& node);

}  // namespace sparkplan
