#pragma once

#include <string>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Installs `ufw` on a fake node: it adds rules to /etc/ufw/user.rules and deletes them there. Like the real ufw, it
/// identifies a rule by its interface and network. ufw is active if /etc/ufw/ufw.conf says so.
void install_fake_ufw(FakeNode& node);

}  // namespace sparkplan::test
