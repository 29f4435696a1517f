#include <stdlib.h>

#include <cerrno>

#include "engine/remote/ssh/host_keys.h"
#include "tests/support/catch.h"
#include "tests/support/largest_file.h"
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

const OfferedHostKey kOfferedKey{"SHA256:abc", "ssh-ed25519", "10.0.0.11 ssh-ed25519 AAAAC3Nz",
                                 OfferedHostKey::Standing::kUnknown};
const std::string kFile = "/.ssh/known_hosts";

}  // namespace

TEST_CASE("a key is revoked by a line for any host, with any blanks") {
  CHECK(is_revoked("@revoked * ssh-ed25519 AAAAkey\n", "AAAAkey"));
  CHECK(is_revoked("# x\n\nother ssh-rsa BBBB\n  @revoked [h]:22,k ssh-ed25519  AAAAkey  a comment\r\n", "AAAAkey"));
  CHECK(is_revoked("@revoked * ssh-ed25519 AAAAkey", "AAAAkey"));
  CHECK(is_revoked("@revoked\t*\tssh-ed25519\tAAAAkey\n", "AAAAkey"));
}

TEST_CASE("a known key or another key is not revoked") {
  CHECK_FALSE(is_revoked("", "AAAAkey"));
  CHECK_FALSE(is_revoked("host ssh-ed25519 AAAAkey\n", "AAAAkey"));
  CHECK_FALSE(is_revoked("@cert-authority * ssh-ed25519 AAAAkey\n", "AAAAkey"));
  CHECK_FALSE(is_revoked("# @revoked * ssh-ed25519 AAAAkey\n", "AAAAkey"));
  CHECK_FALSE(is_revoked("@revoked * ssh-ed25519 AAAAkeyB\n", "AAAAkey"));
  CHECK_FALSE(is_revoked("@revoked * ssh-ed25519 \n", ""));
}

TEST_CASE("the first recorded key creates a file that only its owner can read") {
  const Home home;
  const auto path = remember_host_key(kOfferedKey);
  REQUIRE(path);
  CHECK(*path == (home.root / kFile).string());
  CHECK(home.root.read(kFile) == kOfferedKey.known_hosts_line + "\n");
  CHECK(home.root.mode(kFile) == 0600);
  CHECK(home.root.mode("/.ssh") == 0700);
}

TEST_CASE("a recorded key is added as one line, and all other lines stay") {
  for (const std::string before : {"a ssh-rsa B\n", "a ssh-rsa B"}) {
    const Home home;
    home.root.write(kFile, before);
    REQUIRE(remember_host_key(kOfferedKey));
    CHECK(home.root.read(kFile) == "a ssh-rsa B\n" + kOfferedKey.known_hosts_line + "\n");
  }
}

TEST_CASE("a failure to record a key is an error") {
  const Home home;
  home.root.make_directory(kFile);
  CHECK_FALSE(remember_host_key(kOfferedKey));
  const Home other;
  other.root.write("/.ssh", "a file");
  CHECK_FALSE(remember_host_key(kOfferedKey));
}

TEST_CASE("a key that a full disk cuts off is an error with its reason, and the next key has its own line") {
  const Home home;
  home.root.write(kFile, "a ssh-rsa B\n");
  {
    const test::LargestFile full(15);
    errno = 0;
    const auto recorded = remember_host_key(kOfferedKey);
    REQUIRE_FALSE(recorded);
    CHECK(recorded.error().sys_errno == EFBIG);
  }
  REQUIRE(remember_host_key(kOfferedKey));
  CHECK(home.root.read(kFile) == "a ssh-rsa B\n10.\n" + kOfferedKey.known_hosts_line + "\n");
}

TEST_CASE("known_hosts: all keys of a host are found, in all files, with their lines") {
  const Home home;
  const std::string key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI";
  const auto key_of = [&](char last) { return key + std::string(42, 'A') + last; };
  home.root.write("/a", "# comment\n\nSpark1,10.0.0.11 " + key_of('A') + "\nother " + key_of('E') + "\n");
  home.root.write("/b", "[10.0.0.11]:2222 " + key_of('I') + "\n@revoked 10.0.0.11 " + key_of('M') + "\n10.0.0.* " +
                            key_of('Q') + "\n");
  SshStation station;
  station.known_hosts = {(home.root / "/a").string(), (home.root / "/missing").string(), (home.root / "/b").string()};
  const auto lines_for = [&](const std::string& address, std::uint16_t port) {
    station.address = address;
    station.port = port;
    const auto known = known_host_keys(station);
    REQUIRE(known);
    std::vector<std::string> places;
    for (const KnownHostKey& one : *known) {
      CHECK(one.type == "ssh-ed25519");
      CHECK(one.fingerprint.starts_with("SHA256:"));
      places.push_back(one.file.substr(one.file.size() - 1) + std::to_string(one.line));
    }
    return places;
  };
  using Places = std::vector<std::string>;
  CHECK(lines_for("10.0.0.11", 22) == Places{"a3", "b3"});
  CHECK(lines_for("10.0.0.11", 2222) == Places{"b1"});
  CHECK(lines_for("spark1", 22) == Places{"a3"});
  CHECK(lines_for("203.0.113.1", 22).empty());
}

TEST_CASE("known_hosts: a file that is none, such as /dev/null, has no keys, and none is recorded there") {
  SshStation station;
  station.address = "10.0.0.11";
  station.known_hosts = {"/dev/null"};
  const auto known = known_host_keys(station);
  REQUIRE(known);
  CHECK(known->empty());
  OfferedHostKey key = kOfferedKey;
  key.file = "/dev/null";
  const auto recorded = remember_host_key(key);
  REQUIRE_FALSE(recorded);
  CHECK(recorded.error().message == "the host key cannot be recorded: /dev/null is not a regular file");
}

TEST_CASE("known_hosts: the command that forgets a key names its port and its file") {
  const Home home;
  SshStation station;
  station.address = "10.0.0.11";
  OfferedHostKey key = kOfferedKey;
  key.known = {{"SHA256:x", "ssh-ed25519", (home.root / kFile).string(), 1}};
  CHECK(command_to_forget(key, station) == "ssh-keygen -R 10.0.0.11");
  station.port = 2222;
  key.known.front().file = "/lab/hosts";
  CHECK(command_to_forget(key, station) == "ssh-keygen -R '[10.0.0.11]:2222' -f /lab/hosts");
}

}  // namespace sparkplan
