#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// A package that a fake node's sources have, or that is installed there.
struct FakePackage {
  std::string name;
  std::string version;                   ///< What the sources have beside the installed one; empty: neither.
  std::optional<std::string> installed;  ///< The version that is installed.
  std::vector<std::string> needs;
  bool automatic = false;  ///< Installed because something needs it.
  bool broken = false;     ///< Its post-installation script fails.
};

/// Gives the node dpkg's database with these packages, and through `env` the programs apt-get and apt-mark, as far as
/// sparkplan uses them. What the sources have lies in files below /fake/apt. With a file /fake/apt-locked
/// apt-get says that another program has the lock.
void add_apt(FakeNode& node, const std::vector<FakePackage>& packages);

}  // namespace sparkplan::test
