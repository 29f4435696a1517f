#pragma once

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Installs `netplan` and `networkctl` on a fake node. `netplan generate --root-dir` writes one file for
/// each interface that sparkplan's netplan file defines to run/systemd/network below it, as netplan does
/// for networkd, or to run/NetworkManager for an interface of NetworkManager's, and fails for what is no
/// YAML; the live node is never generated in place. `networkctl reconfigure` gives the interface the MTU
/// and addresses of that file. networkd is running.
void install_fake_networkd(FakeNode& node);

/// The part of netplan that systemd starts at boot, without the rest.
void install_fake_netplan_generator(FakeNode& node, const std::string& path);

}  // namespace sparkplan::test
