#include "resources/hosts/hosts.h"

#include <random>

#include "engine/resource/registry.h"
#include "tests/support/catch.h"
#include "tests/support/fake_node.h"

namespace sparkplan::hosts {
namespace {

const ResourceType& type() { return *builtin_registry().find("hosts"); }

NodeSpec node_of(const std::string& name, const std::string& address, std::vector<FabricPort> fabric = {}) {
  const Result<NodeName> parsed = NodeName::parse(name);
  REQUIRE(parsed);
  NodeSpec node{*parsed, 1, address, {}, TransportKind::kSsh, {}, false, std::move(fabric), {}, {7, 3, 9}};
  return node;
}

FabricPort fabric_of(const std::string& address) {
  FabricPort fabric;
  fabric.address = address;
  fabric.link_local = address.empty();
  fabric.where = {12, 1, 2};
  return fabric;
}

Names names(std::vector<NodeSpec> nodes, std::string_view suffix = "-fabric") {
  return names_of(Cluster{"lab", "", "", "", std::move(nodes)}, suffix);
}

using Addresses = std::map<std::string, std::string>;

constexpr const char* kBlock = "# BEGIN sparkplan (x)\n192.168.100.11 a-fabric\n# END sparkplan\n";

}  // namespace

TEST_CASE("hosts: a name resolves to the node's first fabric address") {
  const Names found = names({node_of("a", "10.0.0.1", {fabric_of(""), fabric_of("192.168.101.11")}),
                             node_of("b", "10.0.0.2", {fabric_of("192.168.100.12"), fabric_of("192.168.101.12")})});
  CHECK(found.addresses == Addresses{{"a-fabric", "192.168.101.11"}, {"b-fabric", "192.168.100.12"}});
  CHECK(found.diagnostics.empty());
}

TEST_CASE("hosts: without a fabric a name resolves to the management address, if that is an IP address") {
  const Names found =
      names({node_of("a", "10.0.0.1"), node_of("b", "fd00::2"), node_of("c", "c.example.net"), node_of("d", "")});
  CHECK(found.addresses == Addresses{{"a-fabric", "10.0.0.1"}, {"b-fabric", "fd00::2"}});
  REQUIRE(found.diagnostics.size() == 2);
  for (const Diagnostic& one : found.diagnostics) {
    CHECK(one.severity == Severity::kWarning);
    CHECK(one.code == "hosts.no-address");
    CHECK(one.where.line == 7);
  }
}

TEST_CASE("hosts: nodes that get no name for the same reason share a warning") {
  const Names found = names({node_of("sp1", "sp1"), node_of("a", "10.0.0.1"), node_of("sp2", "sp2.lan")});
  CHECK(found.addresses == Addresses{{"a-fabric", "10.0.0.1"}});
  REQUIRE(found.diagnostics.size() == 1);
  CHECK(
      found.diagnostics[0].message ==
      "nodes sp[1-2] get no names in /etc/hosts: there is no fabric, and their addresses are names, not IP addresses");
  CHECK(found.diagnostics[0].hint.ends_with(
      "also add the IP address to the alias's Host line, as in `Host spark 10.0.0.11`"));
  CHECK(found.diagnostics[0].where.line == 7);
}

TEST_CASE("hosts: the hint for a directory node suggests a fabric, not an address") {
  NodeSpec node = node_of("image", "");
  node.transport = TransportKind::kLocal;
  const Names found = names({node});
  CHECK(found.addresses.empty());
  REQUIRE(found.diagnostics.size() == 1);
  CHECK(found.diagnostics[0].code == "hosts.no-address");
  CHECK(found.diagnostics[0].message.ends_with("and a directory has no address"));
  CHECK(found.diagnostics[0].hint == "add a fabric section");
}

TEST_CASE("hosts: a node excluded from a fabric never gets its management address") {
  const Names found = names({node_of("a", "10.0.0.1", {fabric_of("192.168.100.11")}), node_of("b", "10.0.0.2"),
                             node_of("c", "10.0.0.3", {fabric_of("")})});
  CHECK(found.addresses == Addresses{{"a-fabric", "192.168.100.11"}});
  REQUIRE(found.diagnostics.size() == 2);
  CHECK(found.diagnostics[0].code == "hosts.no-fabric-address");
  CHECK(found.diagnostics[1].code == "hosts.link-local");
  CHECK(found.diagnostics[1].where.line == 12);
}

TEST_CASE("hosts: nodes in maintenance keep their names") {
  NodeSpec node = node_of("a", "10.0.0.1");
  node.maintenance = true;
  CHECK(names({node}).addresses.size() == 1);
}

TEST_CASE("hosts: a name that is too long for a resolver is an error") {
  const Names found = names({node_of(std::string(60, 'a'), "10.0.0.1")});
  REQUIRE(found.diagnostics.size() == 1);
  CHECK(found.diagnostics[0].severity == Severity::kError);
  CHECK(found.addresses.empty());
  CHECK(names({node_of(std::string(60, 'a'), "10.0.0.1")}, ".fabric").diagnostics.empty());
}

TEST_CASE("hosts: a suffix must keep a host name valid") {
  for (const char* good : {"-fabric", "-f", "0", "-fab1", ".fabric.lan", "-a.b-c", "--x"}) {
    INFO(good);
    CHECK(is_suffix(good));
  }
  for (const char* bad : {"", "-", ".", "-fabric-", "-fabric.", ". x", "-a..b", ".-a", "-.a", "_x", "-ä", "-a b",
                          "-a\n", "-a#b", "-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}) {
    INFO(bad);
    CHECK_FALSE(is_suffix(bad));
  }
}

TEST_CASE("hosts: validation reports the suffix at its position") {
  Value suffix("_x");
  suffix.where = {5, 10, 14};
  const std::vector<Diagnostic> findings = type().validate(Value::map({{"suffix", suffix}}));
  REQUIRE(findings.size() == 1);
  CHECK(findings[0].code == "hosts.suffix");
  CHECK(findings[0].where.line == 5);
  CHECK(type().validate(Value::map()).empty());
  CHECK(type().validate(Value()).empty());
  CHECK(type().validate(Value::map({{"suffix", Value()}})).empty());
}

TEST_CASE("hosts: every name on a line is read, and comments are ignored") {
  const std::vector<Entry> entries =
      parse_hosts("# 1.1.1.1 no\n10.0.0.1\ta  b.c# d\r\n\n10.0.0.2\n  ::1 localhost\n10.0.0.3 e\r");
  REQUIRE(entries.size() == 4);
  CHECK((entries[0].address == "10.0.0.1" && entries[0].name == "a" && entries[0].line == 2));
  CHECK(entries[1].name == "b.c");
  CHECK((entries[2].address == "::1" && entries[2].line == 5));
  CHECK(entries[3].name == "e");
}

TEST_CASE("hosts: parsing the rendered block restores every entry") {
  std::mt19937 random(5);
  std::uniform_int_distribution<int> number(0, 255);
  for (int round = 0; round < 200; ++round) {
    Addresses addresses;
    for (int i = number(random) % 20; i > 0; --i) {
      addresses["n" + std::to_string(number(random)) + "-fabric"] = "10.0.0." + std::to_string(number(random));
    }
    Addresses back;
    for (const Entry& entry : parse_hosts(render_block(addresses))) back[entry.name] = entry.address;
    CHECK(back == addresses);
  }
}

TEST_CASE("hosts: the first line above the block wins for a name in the same address family") {
  const std::string block(kBlock);
  CHECK_FALSE(claimed_above(block, "a-fabric", false));
  CHECK_FALSE(claimed_above(block + "10.0.0.9 a-fabric\n", "a-fabric", false));
  const auto above = claimed_above("10.0.0.9 x A-FABRIC\n10.0.0.8 a-fabric\n" + block, "a-fabric", false);
  REQUIRE(above);
  CHECK((above->address == "10.0.0.9" && above->line == 1));
  CHECK_FALSE(claimed_above("fe80::1 a-fabric\n" + block, "a-fabric", false));
  CHECK(claimed_above("fe80::1 a-fabric\n" + block, "a-fabric", true));
  CHECK_FALSE(claimed_above("# 10.0.0.9 a-fabric\nbogus a-fabric\n" + block, "a-fabric", false));
  CHECK(claimed_above("10.0.0.9 a-fabric\n", "a-fabric", false));
}

TEST_CASE("hosts: an equal line above the block is no claim") {
  test::FakeNode node;
  node.add_file("/etc/hosts", "192.168.100.11 a-fabric\n" + std::string(kBlock));
  CHECK(type().observe({{"a-fabric"}}, node).foreign.empty());
  node.add_file("/etc/hosts", "10.0.0.9 a-fabric\n" + std::string(kBlock));
  const ObservedType observed = type().observe({{"a-fabric"}}, node);
  REQUIRE(observed.foreign.size() == 1);
  CHECK(observed.foreign[0].source == "/etc/hosts:1");
  CHECK(observed.foreign[0].value == Value("10.0.0.9"));
}

TEST_CASE("hosts: before the block exists, a line with an IPv6 address is a claim, too") {
  test::FakeNode node;
  node.add_file("/etc/hosts", "fd00::9 b-fabric\n10.0.0.8 c-fabric\nfd00::8 c-fabric\n");
  const ObservedType observed = type().observe({{"b-fabric", "c-fabric"}}, node);
  REQUIRE(observed.foreign.size() == 2);
  CHECK(observed.foreign[0].value == Value("fd00::9"));
  CHECK(observed.foreign[0].source == "/etc/hosts:1");
  CHECK(observed.foreign[1].value == Value("10.0.0.8"));
}

TEST_CASE("hosts: addresses are distinguished from names") {
  CHECK(is_ipv4("10.0.0.1"));
  CHECK(is_ipv6("fe80::1"));
  for (const char* name : {"", "node", "10.0.0", "10.0.0.1/24", "010.0.0.1", "fe80::1%eth0", "10.0.0.256"}) {
    INFO(name);
    CHECK_FALSE(is_ipv4(name));
    CHECK_FALSE(is_ipv6(name));
  }
}

}  // namespace sparkplan::hosts
