#pragma once

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Installs `gpasswd` on a fake node. It adds members to the node's /etc/group, and removes them from there.
void install_fake_gpasswd(FakeNode& node);

}  // namespace sparkplan::test
