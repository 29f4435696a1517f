#pragma once

#include <string>
#include <vector>

#include "resources/netplan/netplan_file.h"
#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Installs `netplan` and `networkctl` on a fake node, with networkd running. `netplan generate --root-dir` writes one
/// file per interface that sparkplan's netplan file defines. Below the root directory, files for networkd are in
/// run/systemd/network, as netplan writes them. Files for NetworkManager are in run/NetworkManager. Input that is not
/// YAML makes the command fail. The live node is never generated in place. `networkctl reconfigure` gives the interface
/// the MTU, addresses and routes of its file.
void install_fake_networkd(FakeNode& node);

/// Gives the interface exactly these routes in /proc/net/route.
void set_fake_routes(FakeNode& node, const std::string& interface, const std::vector<netplan::Route>& routes);

/// Installs netplan's generator, which systemd runs at boot, at `path`. The `netplan` command is not installed.
void install_fake_netplan_generator(FakeNode& node, const std::string& path);

}  // namespace sparkplan::test
