#pragma once

#include <string>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Installs `modprobe` and `rmmod` on a fake node. They know the modules that were added. Loading creates
/// /sys/module/NAME, with the parameters from /etc/modprobe.d; removing erases it.
void install_fake_modprobe(FakeNode& node);

/// A module of the node's kernel, by the kernel's name.
void add_module(FakeNode& node, const std::string& name);
/// Loads the module without `modprobe`, as if before the test. A module with `users` cannot be removed.
void load_module(FakeNode& node, const std::string& name, int users = 0);

}  // namespace sparkplan::test
