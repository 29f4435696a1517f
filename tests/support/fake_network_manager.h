#pragma once

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Installs `nmcli` on a fake node, with NetworkManager running. Profiles are keyfiles in two directories:
/// /run/NetworkManager/system-connections, which netplan's generator writes, and
/// /etc/NetworkManager/system-connections. A keyfile has a name, and optionally a uuid and `address1`. Activating a
/// profile gives the interface the keyfile's settings. A profile whose file is missing becomes inactive on the next
/// load.
void install_fake_network_manager(FakeNode& node);

/// `nmcli` stays installed, and reports that NetworkManager is not running.
void stop_fake_network_manager(FakeNode& node);

/// From now on, NetworkManager activates no profile: a neighbour answers for each address.
void refuse_activations(FakeNode& node);

/// Activates `file` on the interface without `nmcli`, as if before the test.
void make_active(FakeNode& node, const std::string& interface, const std::string& file);

/// The file of the interface's active profile; empty: none.
std::string active_profile(const FakeNode& node, const std::string& interface);

}  // namespace sparkplan::test
