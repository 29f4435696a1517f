#pragma once

#include <string>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Installs `modprobe` and `rmmod` on a fake node. They know the modules that were added, and load and remove them by
/// making and erasing /sys/module/NAME, with the parameters that files in /etc/modprobe.d give them.
void install_fake_modprobe(FakeNode& node);

/// A module of the node's kernel, by the kernel's name.
void add_module(FakeNode& node, const std::string& name);
/// As if it had been loaded before the test; `users` keep it from being removed.
void load_module(FakeNode& node, const std::string& name, int users = 0);

}  // namespace sparkplan::test
