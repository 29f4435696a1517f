#pragma once

#include <string>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Installs `ufw` on a fake node: it adds rules to /etc/ufw/user.rules and deletes them there, and takes a rule for the
/// same interface and network for the same rule, as the real one does. It is active where /etc/ufw/ufw.conf says so.
void install_fake_ufw(FakeNode& node);

}  // namespace sparkplan::test
