#pragma once

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Installs `netplan` and `networkctl` on a fake node. `netplan generate` writes one file for each
/// interface that sparkplan's netplan file defines to /run/systemd/network, as netplan does for
/// networkd; with --root-dir it only reads, and fails for what is no YAML. `networkctl reconfigure`
/// gives the interface the MTU and addresses of that file.
void install_fake_networkd(FakeNode& node);

}  // namespace sparkplan::test
