// Machine names as given on the command line.
#include "engine/cli/discovery/host_argument.h"
#include "tests/support/catch.h"

namespace sparkplan {

TEST_CASE("a machine is given as user, host and port, and only the host is required") {
  struct Row {
    std::string text;
    std::string user;
    std::string address;
    int port;
  };
  for (const Row& row :
       {Row{"10.0.0.11", "", "10.0.0.11", 22}, Row{"nvidia@spark-01.local", "nvidia", "spark-01.local", 22},
        Row{"root@h:2222", "root", "h", 2222}, Row{"fe80::1%eth0", "", "fe80::1%eth0", 22},
        Row{"a@[fe80::1%eth0]:23", "a", "fe80::1%eth0", 23}, Row{"[::1]", "", "::1", 22}}) {
    INFO(row.text);
    const auto host = parse_host_argument(row.text);
    REQUIRE(host);
    CHECK(host->given == row.text);
    CHECK(host->user == row.user);
    CHECK(host->address == row.address);
    CHECK(host->port == row.port);
    CHECK(host->port_given == (row.port != 22));
    CHECK(node_at(*host, "me").ssh.named_by_file);
    CHECK(node_at(*host, "me").ssh.user == (row.user.empty() ? "me" : row.user));
  }
}

TEST_CASE("an invalid machine argument is refused with the expected form") {
  for (const std::string text : {"", "@h", "-x@h", "a b@h", "h:", "h:0", "h:65536", "h:x", "[::1", "[::1]x",
                                 "256.1.1.1", "127.0.0.1", "0.0.0.0", "a_b c", "h\n", "--help", "$(reboot)", "a@b@c"}) {
    INFO(text);
    const auto host = parse_host_argument(text);
    REQUIRE_FALSE(host);
    CHECK(host.error().code == ErrorCode::kInvalidInput);
    CHECK_FALSE(host.error().hint.empty());
  }
}

}  // namespace sparkplan
