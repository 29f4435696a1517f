#pragma once

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// Installs `nmcli` on a fake node, with NetworkManager running. Its profiles are the files in
/// /run/NetworkManager/system-connections, which netplan's generator writes, and in
/// /etc/NetworkManager/system-connections; a keyfile names itself and may have a uuid and `address1`.
/// Bringing one up gives the interface what it says; a profile whose file is gone goes down when it is
/// loaded.
void install_fake_network_manager(FakeNode& node);

/// `nmcli` stays, and says what it says when nobody answers.
void stop_fake_network_manager(FakeNode& node);

/// As if `file` had been brought up on the interface before the test.
void make_active(FakeNode& node, const std::string& interface, const std::string& file);

/// The file of the profile that is up on the interface; empty: none.
std::string active_profile(const FakeNode& node, const std::string& interface);

}  // namespace sparkplan::test
