#include "resources/netplan/take_over.h"

#include "resources/netplan/netplan_file.h"
#include "tests/support/catch.h"

namespace sparkplan::netplan {
namespace {

constexpr const char* kOther = R"(# by hand, 2025
network:
  version: 2
  ethernets:
    enP7s7: {dhcp4: true}
    enp1s0f1np1:            # the left cable
      link-local: [ipv4]
      addresses:
        - 192.168.177.11/24
        - 192.168.178.11/24

    # the twin
    enP2p1s0f1np1:
      mtu: 9000
)";

constexpr const char* kEmptied = R"(# by hand, 2025
network:
  version: 2
  ethernets:
    enP7s7: {dhcp4: true}
    enp1s0f1np1: {}  # sparkplan: 60-sparkplan-fabric.yaml defines it; this did:
#sparkplan:    enp1s0f1np1:            # the left cable
#sparkplan:      link-local: [ipv4]
#sparkplan:      addresses:
#sparkplan:        - 192.168.177.11/24
#sparkplan:        - 192.168.178.11/24

    # the twin
    enP2p1s0f1np1:
      mtu: 9000
)";

std::string why_not(const std::string& text, const std::string& path = "/etc/netplan/40-cx7.yaml") {
  const auto tree = parse_yaml(text);
  REQUIRE(tree);
  return why_not_taken_over(path, text, *tree, "enp1s0f1np1");
}

}  // namespace

TEST_CASE("netplan: a definition is emptied on take-over, and all other bytes of its file stay") {
  const auto emptied = with_emptied(kOther, {{"enp1s0f1np1", "enp1s0f1np1"}});
  REQUIRE(emptied);
  CHECK(*emptied == kEmptied);
  CHECK(emptied_in(*emptied) == std::map<std::string, std::string>{{"enp1s0f1np1", "enp1s0f1np1"}});
  CHECK(emptied_in(kOther).empty());
}

TEST_CASE("netplan: emptying twice gives the same text as once") {
  CHECK(with_emptied(kEmptied, {{"enp1s0f1np1", "enp1s0f1np1"}}) == Result<std::string>(kEmptied));
}

TEST_CASE("netplan: an emptied definition is restored word for word in a file that has changed since") {
  CHECK(with_restored(kEmptied, {"enp1s0f1np1"}) == kOther);
  const std::string more = "    eth9: {dhcp4: true}\n";
  CHECK(with_restored(kEmptied + more, {"enp1s0f1np1"}) == kOther + more);
  CHECK(with_restored(kOther, {"enp1s0f1np1"}) == kOther);
  CHECK(with_restored(kEmptied, {"enP2p1s0f1np1"}) == kEmptied);
}

TEST_CASE("netplan: all definitions of a file can be emptied, and restored in any order") {
  const std::vector<std::string> both{"enp1s0f1np1", "enP2p1s0f1np1"};
  for (const bool last_first : {false, true}) {
    const std::string& first = both[last_first ? 1 : 0];
    const std::string& second = both[last_first ? 0 : 1];
    const auto one = with_emptied(kOther, {{first, first}});
    REQUIRE(one);
    const auto two = with_emptied(*one, {{second, second}});
    REQUIRE(two);
    CHECK(emptied_in(*two).size() == 2);
    CHECK(with_restored(with_restored(*two, {both[0]}), {both[1]}) == kOther);
    CHECK(with_restored(with_restored(*two, {both[1]}), {both[0]}) == kOther);
  }
}

TEST_CASE("netplan: files with other line ends, or without a final one, are emptied and restored") {
  for (const std::string text : {"network:\n  ethernets:\n    enp1s0f1np1:\n      mtu: 9000",
                                 "network:\r\n  ethernets:\r\n    enp1s0f1np1:\r\n      mtu: 9000\r\n"}) {
    const auto emptied = with_emptied(text, {{"enp1s0f1np1", "enp1s0f1np1"}});
    REQUIRE(emptied);
    CHECK(with_restored(*emptied, {"enp1s0f1np1"}) == text);
    const std::string more = "    eth9: {dhcp4: true}\n";
    const std::string line_end = text.ends_with('\n') ? "" : "\n";
    CHECK(with_restored(*emptied + line_end + more, {"enp1s0f1np1"}) == text + line_end + more);
  }
}

TEST_CASE("netplan: braces over several lines are part of the definition") {
  const std::string text =
      "network:\n  ethernets:\n    enp1s0f1np1: {\n      mtu: 9000\n    }\n    eth9: {dhcp4: true}\n";
  const auto emptied = with_emptied(text, {{"enp1s0f1np1", "enp1s0f1np1"}});
  REQUIRE(emptied);
  const auto tree = parse_yaml(*emptied);
  REQUIRE(tree);
  CHECK(tree->find("network")->find("ethernets")->find("enp1s0f1np1")->entries()->empty());
  CHECK(tree->find("network")->find("ethernets")->find("eth9") != nullptr);
  CHECK(with_restored(*emptied, {"enp1s0f1np1"}) == text);
}

TEST_CASE("netplan: text between the comment lines, or a commented definition, causes no damage") {
  std::string blank = kEmptied;
  blank.insert(blank.find("#sparkplan:      addresses"), "\n# mine\n");
  const auto restored = with_restored(blank, {"enp1s0f1np1"});
  const auto tree = parse_yaml(restored);
  REQUIRE(tree);
  CHECK(tree->find("network")->find("ethernets")->find("enp1s0f1np1")->find("addresses")->list_items()->size() == 2);
  CHECK(restored.find("#sparkplan:") == std::string::npos);

  std::string remark = kEmptied;
  remark.insert(remark.find("    enp1s0f1np1: {}"), "#");
  CHECK(emptied_in(remark).empty());
}

TEST_CASE("netplan: a repeated definition, or one beside a taken-over one, is not taken over") {
  const std::string again = std::string(kEmptied) + "    enp1s0f1np1: {dhcp4: true}\n";
  CHECK_FALSE(with_emptied(again, {{"enp1s0f1np1", "enp1s0f1np1"}}));
  CHECK_FALSE(with_emptied("network:\n  ethernets:\n    a: {mtu: 1}\n    \"a\": {dhcp4: true}\n", {{"a", "a"}}));
  CHECK_FALSE(with_emptied("network:\n  ethernets:\n    a: {mtu: 1}\n#sparkplan:    a: {mtu: 2}\n", {{"a", "a"}}));
}

TEST_CASE("netplan: a profile's definition is emptied under its own key, for one interface, and restored") {
  const std::string text =
      "network:\n  version: 2\n  ethernets:\n    NM-3b2a4f6e:\n      renderer: NetworkManager\n      match:\n"
      "        name: \"enp1s0f1np1\"\n      dhcp4: true\n";
  const auto emptied = with_emptied(text, {{"NM-3b2a4f6e", "enp1s0f1np1"}});
  REQUIRE(emptied);
  CHECK(emptied->find("    NM-3b2a4f6e: {}  # sparkplan: 60-sparkplan-fabric.yaml defines enp1s0f1np1; this did:\n") !=
        std::string::npos);
  CHECK(emptied_in(*emptied) == std::map<std::string, std::string>{{"NM-3b2a4f6e", "enp1s0f1np1"}});
  CHECK(with_restored(*emptied, {"NM-3b2a4f6e"}) == text);
  CHECK(with_restored(*emptied, {"enp1s0f1np1"}) == *emptied);
}

TEST_CASE("netplan: a definition that shares its lines with another is not taken over") {
  CHECK(why_not("network: {ethernets: {enp1s0f1np1: {mtu: 9000}, eth9: {dhcp4: true}}}\n") != "");
  CHECK(why_not("network:\n  ethernets:\n    enp1s0f1np1: &a {mtu: 9000}\n    eth9: *a\n") != "");
  CHECK(why_not(kOther) == "");
}

TEST_CASE("netplan: files that hold secrets, or that are regenerated at boot, are not taken over") {
  const std::string plain = "network:\n  ethernets:\n    enp1s0f1np1: {mtu: 9000}\n";
  CHECK(why_not(plain) == "");
  CHECK(why_not(plain, "/run/netplan/40-cx7.yaml").find("/etc/netplan") != std::string::npos);
  CHECK(why_not(plain, "/usr/lib/netplan/40-cx7.yaml").find("/etc/netplan") != std::string::npos);
  CHECK(why_not(plain + "  wifis:\n    wlP9s9: {access-points: {home: {password: x}}}\n").find("secrets") !=
        std::string::npos);
}

}  // namespace sparkplan::netplan
