#pragma once

#include <functional>
#include <optional>
#include <string>

#include "engine/agent/node/local_node.h"
#include "tests/unit/agent/scratch.h"

/// Mounts for a test, which no other process sees.
namespace sparkplan::test {

using Look = std::function<std::string(LocalNode&)>;

/// The result of `look` for the node at `root`, in a process that no other process shares its mounts with. `mount`
/// makes them, and returns false if it cannot. Nothing where mounts are not permitted: the test is then skipped. The
/// process has a minute.
std::optional<std::string> with_own_mounts(const ScratchDirectory& root, const std::function<bool()>& mount,
                                           const Look& look);

/// As with_own_mounts(). The mount shows the path `what` of the node at its path `where`.
std::optional<std::string> with_mount(const ScratchDirectory& root, const std::string& what, const std::string& where,
                                      const Look& look);

/// A file system of a user's program that root may enter.
struct Fuse {
  bool refuses = false;  ///< Each access fails with ECONNREFUSED. Otherwise it waits without end.
  int user = 0;          ///< The user who mounts it.
  bool is_file = false;  ///< It is mounted on a file.
};

/// Mounts it at a path of this machine.
bool mount_fuse(const std::string& where, const Fuse& fuse);

/// As with_own_mounts(), with the file system at a path of the node.
std::optional<std::string> with_fuse(const ScratchDirectory& root, const std::string& where, const Fuse& fuse,
                                     const Look& look);

}  // namespace sparkplan::test
