// The programs that the agent runs to read a node's packet filter, and the report when they fail.
#include "engine/agent/facts/extended_facts.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"
#include "tests/unit/agent/input_verdicts.h"

namespace sparkplan {
namespace {

using test::FakeNode;
using test::Verdicts;
using test::verdicts_of;

constexpr const char* kDropAll = "*filter\n:INPUT DROP [0:0]\nCOMMIT\n";
constexpr const char* kIptablesTables = "/proc/net/ip_tables_names";

ExtendedFacts look_at(const FakeNode& node) {
  ExtendedFacts facts;
  read_firewall(node, facts);
  return facts;
}

/// Why the packet filter could not be read; "" if it could.
std::string reason_of(const ExtendedFacts& facts) {
  const auto found = facts.unreadable.find("firewall");
  return found == facts.unreadable.end() ? "" : found->second;
}

}  // namespace

TEST_CASE("without a working nft, the agent runs iptables-save") {
  FakeNode machine;
  machine.add_file("/etc/ufw/ufw.conf", "# comment\nENABLED=yes\nLOGLEVEL=low\n");
  machine.script("iptables-save", {0, "*filter\n:INPUT DROP [0:0]\n-A INPUT -i lo -j ACCEPT\n", ""});
  for (const bool broken : {false, true}) {
    if (broken) machine.script("nft list ruleset", {1, "", "Operation not supported\n"});
    const auto facts = look_at(machine);
    REQUIRE(facts.firewall);
    CHECK(facts.firewall->ufw == "active");
    REQUIRE(facts.firewall->input_chains.size() == 1);
    CHECK(verdicts_of(facts.firewall->input_chains[0]) == Verdicts{"accept lo", "drop"});
    CHECK(facts.unreadable.empty());
  }
}

TEST_CASE("an oversized nft listing is an error, because iptables may list fewer rules") {
  FakeNode machine;
  machine.script("iptables-save", {0, "*filter\n:INPUT ACCEPT [0:0]\nCOMMIT\n", ""});
  machine.add_program("nft", [](const FakeNode::Call&) -> Result<CommandOutput> {
    return failure(ErrorCode::kFailed, "nft prints more than 4194304 bytes");
  });
  const auto facts = look_at(machine);
  CHECK_FALSE(facts.firewall);
  CHECK(reason_of(facts) == "nft prints more than 4194304 bytes");
}

TEST_CASE("tables of iptables-legacy, which nft does not list, are read separately") {
  FakeNode machine;
  machine.script("nft list ruleset", {0,
                                      "table inet firewalld {\n\tchain filter_INPUT {\n\t\ttype filter hook input "
                                      "priority filter + 10; policy accept;\n\t}\n}\n",
                                      ""});
  SECTION("no such tables exist") {
    machine.add_file(kIptablesTables, "");
    const auto facts = look_at(machine);
    REQUIRE(facts.firewall);
    CHECK(facts.firewall->input_chains.size() == 1);
    CHECK(facts.unreadable.empty());
  }
  SECTION("the tables exist without a program to list them") {
    machine.add_file(kIptablesTables, "filter\n");
    CHECK(reason_of(look_at(machine)) == "iptables-legacy has tables, but iptables-legacy-save is not installed");
  }
  SECTION("the tables are added to those of nft") {
    machine.add_file(kIptablesTables, "filter\n");
    machine.script("iptables-legacy-save", {0, kDropAll, ""});
    const auto facts = look_at(machine);
    CHECK(facts.unreadable.empty());
    REQUIRE(facts.firewall);
    REQUIRE(facts.firewall->input_chains.size() == 2);
    CHECK(facts.firewall->input_chains[0].name == "inet firewalld filter_INPUT");
    CHECK(facts.firewall->input_chains[1].name == "filter INPUT");
    CHECK(verdicts_of(facts.firewall->input_chains[1]) == Verdicts{"drop"});
  }
  SECTION("the program fails") {
    machine.add_file(kIptablesTables, "filter\n");
    machine.script("iptables-legacy-save", {1, "", "Permission denied\n"});
    CHECK(reason_of(look_at(machine)) == "iptables-legacy-save: exit 1: Permission denied");
  }
}

TEST_CASE("where iptables-save is iptables-legacy-save, each chain is reported once") {
  FakeNode machine;
  machine.add_file(kIptablesTables, "filter\n");
  machine.script("iptables-save", {0, kDropAll, ""});
  machine.script("iptables-legacy-save", {0, kDropAll, ""});
  const auto facts = look_at(machine);
  REQUIRE(facts.firewall);
  CHECK(facts.firewall->input_chains.size() == 1);
}

TEST_CASE("an active ufw without a listing program is unreadable, not a firewall without rules") {
  FakeNode machine;
  machine.add_file("/etc/ufw/ufw.conf", "ENABLED=no\n");
  CHECK(look_at(machine).unreadable.empty());
  machine.add_file("/etc/ufw/ufw.conf", "ENABLED=yes\n");
  CHECK(reason_of(look_at(machine)) == "ufw is active, but neither nft nor iptables-save is installed");
}

TEST_CASE("a missing packet filter is no error; an unreadable one is reported with the reason") {
  FakeNode machine;
  auto facts = look_at(machine);
  CHECK_FALSE(facts.firewall);
  CHECK(facts.unreadable.empty());
  machine.script("nft list ruleset", {1, "", "Operation not permitted\n"});
  machine.script("iptables-save", {1, "", "Permission denied\n"});
  facts = look_at(machine);
  CHECK_FALSE(facts.firewall);
  CHECK(reason_of(facts) == "nft: exit 1: Operation not permitted");
}

}  // namespace sparkplan
