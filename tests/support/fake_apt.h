#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// A package that is available in a fake node's sources, installed, or both.
struct FakePackage {
  std::string name;
  std::string version;                   ///< Available in the sources; empty: only `installed`.
  std::optional<std::string> installed;  ///< The installed version.
  std::vector<std::string> needs;
  bool automatic = false;  ///< Installed because another package needs it.
  bool held = false;       ///< Installed and on hold.
  bool broken = false;     ///< Its post-installation script fails.
};

/// Gives the node dpkg's database with these packages. Adds apt-get and apt-mark, called through `env`, as far as
/// sparkplan uses them. The available packages are files below /fake/apt. While /fake/apt-locked exists, apt-get
/// reports that another program has the lock.
void add_apt(FakeNode& node, const std::vector<FakePackage>& packages);

}  // namespace sparkplan::test
