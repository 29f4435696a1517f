#include "engine/verify/levels/ssh_complaint.h"

#include "tests/support/catch.h"

namespace sparkplan {
namespace {

// Words of OpenSSH 9.2 and util-linux 2.38.
constexpr auto kUnknownKey =
    "No ED25519 host key is known for spark-02 and you have requested strict checking.\r\n"
    "Host key verification failed.\r\n";
constexpr auto kChangedKey =
    "@@@@@@@@@@\r\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\r\n@@@@@@@@@@\r\n"
    "Host key verification failed.\r\n";

}  // namespace

TEST_CASE("ssh's own message selects the row") {
  CHECK(read_complaint(kUnknownKey).row->id == "ssh-host-key");
  CHECK(read_complaint(kChangedKey).row->id == "ssh-host-key");
  CHECK(read_complaint("nvidia@spark-02: Permission denied (publickey,password).").row->id == "ssh-denied");
  CHECK(read_complaint("ssh: connect to host 10.0.0.2 port 22: Connection timed out").row->id == "ssh-timeout");
  CHECK(read_complaint("ssh: connect to host 10.0.0.2 port 22: Connection refused").row->id == "ssh-refused");
  CHECK(read_complaint("ssh: connect to host 10.0.0.2 port 22: No route to host").row->id == "ssh-no-route");
  CHECK(read_complaint("ssh: Could not resolve hostname spark-02-fabric: Name or service not known").row->id ==
        "ssh-unknown-name");
  CHECK(read_complaint("runuser: user ghost does not exist or the user entry does not contain all the required fields")
            .row->id == "ssh-no-user");
}

TEST_CASE("the decisive message takes precedence over later ones, and a banner is ignored") {
  const auto complaint = read_complaint(std::string("Welcome to spark-02\n") + kUnknownKey);
  CHECK(complaint.words == "Host key verification failed.");
  CHECK(read_complaint("").row->id == "ssh-other");
  CHECK(read_complaint("").words == "ssh printed no error");
  CHECK(read_complaint("odd\nodder\n\n").words == "odder");
}

TEST_CASE("no part of a message can control a terminal") {
  CHECK(read_complaint("\x1b[31mPermission denied\x07").words.find('\x1b') == std::string::npos);
}

}  // namespace sparkplan
