#pragma once

#include <string>
#include <vector>

#include "tests/support/fake_node.h"

namespace sparkplan::test {

/// An entry of the user database; every user has a group of their own.
struct FakeUser {
  std::string name;
  int uid = 1000;
  int gid = 1000;
  std::string home;
  std::string shell = "/bin/bash";
};

/// `getent passwd` and `getent group` for exactly these users.
void install_fake_accounts(FakeNode& node, std::vector<FakeUser> users);

/// An ssh-keygen that writes files in OpenSSH's format. The key depends on its comment and `seed` only, so that a test
/// can predict it.
void install_fake_ssh_keygen(FakeNode& node, const std::string& seed = "");

/// The two files of a key in the user's home.
void add_fake_key(FakeNode& node, const FakeUser& user, const std::string& comment, const std::string& seed = "");

/// "ssh-ed25519 BASE64" of the key with this comment.
std::string fake_public_key(const std::string& comment, const std::string& seed = "");
/// The file of its private key.
std::string fake_private_key(const std::string& comment, const std::string& seed = "");

}  // namespace sparkplan::test
