#include <stdlib.h>

#include "engine/remote/host_keys.h"
#include "tests/support/catch.h"
#include "tests/unit/agent/scratch.h"

namespace sparkplan {
namespace {

using test::ScratchDirectory;

/// Sets $HOME to a scratch directory for the lifetime of this object.
class Home {
 public:
  Home() { ::setenv("HOME", root.path().c_str(), 1); }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;
  ~Home() { had_ ? ::setenv("HOME", before_.c_str(), 1) : ::unsetenv("HOME"); }

  ScratchDirectory root;

 private:
  bool had_ = ::getenv("HOME") != nullptr;
  std::string before_ = had_ ? ::getenv("HOME") : "";
};

const OfferedHostKey kKey{"SHA256:abc", "ssh-ed25519", "10.0.0.11 ssh-ed25519 AAAAC3Nz",
                          OfferedHostKey::Standing::kUnknown};
const std::string kFile = "/.ssh/known_hosts";

}  // namespace

TEST_CASE("a key is revoked by a line for any host, in any spelling of blanks") {
  CHECK(is_revoked("@revoked * ssh-ed25519 AAAAkey\n", "AAAAkey"));
  CHECK(is_revoked("# x\n\nother ssh-rsa BBBB\n  @revoked [h]:22,k ssh-ed25519  AAAAkey  a comment\r\n", "AAAAkey"));
  CHECK(is_revoked("@revoked * ssh-ed25519 AAAAkey", "AAAAkey"));
  CHECK(is_revoked("@revoked\t*\tssh-ed25519\tAAAAkey\n", "AAAAkey"));
}

TEST_CASE("a key that is only known, or another, is not revoked") {
  CHECK_FALSE(is_revoked("", "AAAAkey"));
  CHECK_FALSE(is_revoked("host ssh-ed25519 AAAAkey\n", "AAAAkey"));
  CHECK_FALSE(is_revoked("@cert-authority * ssh-ed25519 AAAAkey\n", "AAAAkey"));
  CHECK_FALSE(is_revoked("# @revoked * ssh-ed25519 AAAAkey\n", "AAAAkey"));
  CHECK_FALSE(is_revoked("@revoked * ssh-ed25519 AAAAkeyB\n", "AAAAkey"));
  CHECK_FALSE(is_revoked("@revoked * ssh-ed25519 \n", ""));
}

TEST_CASE("the first remembered key makes a file for its owner alone") {
  const Home home;
  const auto path = remember_host_key(kKey);
  REQUIRE(path);
  CHECK(*path == (home.root / kFile).string());
  CHECK(home.root.read(kFile) == kKey.known_hosts_line + "\n");
  CHECK(home.root.mode(kFile) == 0600);
  CHECK(home.root.mode("/.ssh") == 0700);
}

TEST_CASE("a remembered key is added on a line of its own and nothing else is changed") {
  for (const std::string before : {"a ssh-rsa B\n", "a ssh-rsa B"}) {
    const Home home;
    home.root.write(kFile, before);
    REQUIRE(remember_host_key(kKey));
    CHECK(home.root.read(kFile) == "a ssh-rsa B\n" + kKey.known_hosts_line + "\n");
  }
}

TEST_CASE("a key that cannot be remembered is an error") {
  const Home home;
  home.root.make_directory(kFile);
  CHECK_FALSE(remember_host_key(kKey));
  const Home other;
  other.root.write("/.ssh", "a file");
  CHECK_FALSE(remember_host_key(kKey));
}

}  // namespace sparkplan
