// What `init` writes for machines that nobody has managed yet, and for those that it cannot make sense of.
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "engine/draft/fabric_neighbours.h"
#include "engine/draft/yaml_writer.h"
#include "tests/support/catch.h"
#include "tests/unit/draft_machines.h"

namespace sparkplan {
namespace {

using test::applied;
using test::bare_spark;
using test::draft_of;
using test::link_of;
using test::loaded;

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// With SPARKPLAN_ACCEPT=1 the file is written instead; read the difference then.
void compare_with_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(SPARKPLAN_SOURCE_DIR) + "/tests/unit/drafts/" + name + ".yaml";
  if (std::getenv("SPARKPLAN_ACCEPT") != nullptr) std::ofstream(path, std::ios::binary) << text;
  std::ifstream file(path, std::ios::binary);
  const std::string golden{std::istreambuf_iterator<char>(file), {}};
  CHECK(text == golden);
}

void set_address(DraftMachine& machine, const std::string& interface, const std::string& address, int mtu = 9000) {
  LinkFacts& link = link_of(machine, interface);
  link.addresses = {address};
  link.mtu = mtu;
}

DraftMachine unreachable(const std::string& address) {
  DraftMachine machine;
  machine.given = machine.address = address;
  machine.error = Error{ErrorCode::kUnreachable, "connect to " + address + " port 22: timed out", {}, {}, ""};
  return machine;
}

Result<Draft> attempt(const std::vector<DraftMachine>& machines) {
  return draft_cluster({machines, "cluster.schema.json"}, builtin_registry());
}

bool has_remark(const Draft& draft, const std::string& code) {
  for (const Diagnostic& remark : draft.remarks) {
    if (remark.code == code) return true;
  }
  return false;
}

}  // namespace

TEST_CASE("two new DGX Sparks with one cable") {
  auto machines = std::vector{bare_spark(1), bare_spark(2)};
  for (auto& machine : machines) {
    machine.facts->survey.emplace();
    machine.facts->survey->sysctl["net.core.rmem_max"] = "212992";
  }
  compare_with_golden("two-new-sparks", draft_of(machines));
}

TEST_CASE("eight new DGX Sparks on a switch") {
  std::vector<DraftMachine> machines;
  for (int i = 1; i <= 8; ++i) machines.push_back(bare_spark(i, {0}));
  compare_with_golden("eight-new-sparks", draft_of(machines));
}

TEST_CASE("new DGX Sparks without a cable, with two, and in a ring") {
  const auto fabric_of = [](std::vector<DraftMachine> machines) {
    const Cluster cluster = loaded(draft_of(machines));
    const auto section = cluster.nodes.front().sections.find("fabric");
    return section == cluster.nodes.front().sections.end() ? "none" : section->second.text_or("topology", "");
  };
  CHECK(fabric_of({bare_spark(1, {}), bare_spark(2, {})}) == "direct");
  CHECK(contains(draft_of({bare_spark(1, {}), bare_spark(2, {})}), "a guess"));
  CHECK(fabric_of({bare_spark(1, {0, 1}), bare_spark(2, {0, 1})}) == "dual-cable");
  CHECK(fabric_of({bare_spark(1, {0, 1}), bare_spark(2, {0, 1}), bare_spark(3, {0, 1})}) == "ring");
  CHECK(fabric_of({bare_spark(1)}) == "none");
}

TEST_CASE("addresses of a guide are kept, and left to what sets them") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  set_address(first, "enp1s0f1np1", "192.168.177.11/24");
  set_address(second, "enp1s0f1np1", "192.168.177.12/24");
  for (auto* machine : {&first, &second}) link_of(*machine, "enP2p1s0f1np1").mtu = 9000;
  compare_with_golden("one-address-on-half-a", draft_of({first, second}));
}

TEST_CASE("addresses that derive from other ids give the nodes these ids") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  set_address(first, "enp1s0f1np1", "192.168.100.21/24");
  set_address(first, "enP2p1s0f1np1", "192.168.101.21/24");
  set_address(second, "enp1s0f1np1", "192.168.100.22/24");
  set_address(second, "enP2p1s0f1np1", "192.168.101.22/24");
  const std::string text = draft_of({first, second});
  CHECK(contains(text, "{name: spark-01, id: 11, address: 10.0.0.11}"));
  CHECK_FALSE(contains(text, "interfaces:"));
}

TEST_CASE("what carries our own connection is never taken for the fabric") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  for (auto* machine : {&first, &second}) {
    set_address(*machine, "enp1s0f1np1", machine->address + "/24");
    link_of(*machine, "enP7s7").addresses.clear();
  }
  const std::string text = draft_of({first, second});
  CHECK_FALSE(contains(text, "name: enp1s0f1np1"));
  CHECK_FALSE(contains(text, "port: 1"));
}

TEST_CASE("a new fabric keeps away from networks that are there") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  link_of(first, "enP7s7").addresses.push_back("192.168.101.77/24");
  const std::string text = draft_of({first, second});
  CHECK(contains(text, "fabric: {topology: direct, port: 1, subnets: [10.100.0.0/24, 10.100.1.0/24]}"));
}

TEST_CASE("a new fabric keeps away from what a machine has a route to") {
  auto first = bare_spark(1);
  first.facts->host.routes.push_back({"tun0", "192.168.0.0/16", "10.0.0.1", 0, "static", false, 254});
  first.facts->host.routes.push_back({"enP7s7", "0.0.0.0/0", "10.0.0.1", 0, "dhcp", false, 254});
  CHECK(contains(draft_of({first, bare_spark(2)}), "subnets: [10.100.0.0/24, 10.100.1.0/24]"));
}

TEST_CASE("where no private network is free there is no fabric, and a word about it") {
  auto first = bare_spark(1);
  const auto reach = [&](const std::string& network) {
    first.facts->host.routes.push_back({"tun0", network, "10.0.0.1", 0, "static", false, 254});
  };
  reach("192.168.0.0/16");
  reach("10.0.0.0/8");
  CHECK(contains(draft_of({first, bare_spark(2)}), "subnets: [172.16.0.0/24, 172.16.1.0/24]"));
  reach("172.16.0.0/12");
  const auto draft = attempt({first, bare_spark(2)});
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.no-fabric"));
  CHECK_FALSE(contains(draft->text, "\nfabric:"));
}

TEST_CASE("a mistake in the addresses that are there gives a file without a fabric that says so") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  set_address(first, "enp1s0f1np1", "192.168.100.11/24");
  set_address(second, "enp1s0f1np1", "192.168.100.12/24");
  SECTION("both halves in one network") {
    set_address(first, "enP2p1s0f1np1", "192.168.100.111/24");
    set_address(second, "enP2p1s0f1np1", "192.168.100.112/24");
  }
  SECTION("one address on both") { set_address(second, "enp1s0f1np1", "192.168.100.11/24"); }
  SECTION("the network of the management") { set_address(second, "enp1s0f1np1", "10.0.0.112/24"); }
  SECTION("an MTU too small for it") { link_of(first, "enp1s0f1np1").mtu = 1000; }
  SECTION("a node that is reached by its fabric address") {
    first.address = first.facts->ssh_server_address = "192.168.100.11";
  }
  const auto draft = attempt({first, second});
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.no-fabric"));
  CHECK(contains(draft->text, "\n# spark-02 enp1s0f1np1: "));
  const Cluster cluster = loaded(draft->text);
  CHECK(cluster.nodes.size() == 2);
  CHECK_FALSE(cluster.nodes.front().sections.contains("fabric"));
}

TEST_CASE("what NetworkManager has made up for a port is nobody's address") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  for (auto* machine : {&first, &second}) {
    set_address(*machine, "enp1s0f1np1", "10.55.0.7/24", 1500);
    link_of(*machine, "enp1s0f1np1").profile = "made-up";
    NetworkProfile profile;
    profile.id = "Wired connection 2";
    profile.uuid = "made-up";
    profile.method = "auto";
    profile.origin = ProfileOrigin::kGenerated;
    machine->facts->host.network_profiles.push_back(profile);
  }
  CHECK(contains(draft_of({first, second}), "fabric: {topology: direct, port: 1}\n"));
  first.facts->host.network_profiles.front().origin = ProfileOrigin::kHandWritten;
  CHECK(contains(draft_of({first, second}), "10.55.0.7/24"));
}

TEST_CASE("who has answered on the fabric, and is none of those read, is a neighbour") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  set_address(second, "enp1s0f1np1", "192.168.100.12/24");
  first.facts->survey.emplace();
  first.facts->survey->neighbours = {{"enp1s0f1np1", "192.168.100.12", "52:54:00:00:00:02", "reachable"},
                                     {"enp1s0f1np1", "192.168.100.14", "52:54:00:00:00:04", "stale"},
                                     {"enp1s0f1np1", "192.168.100.15", "", "failed"},
                                     {"enp1s0f1np1", "fe80::1", "52:54:00:00:00:05", "reachable"},
                                     {"enP7s7", "10.0.0.99", "52:54:00:00:00:06", "reachable"}};
  CHECK(fabric_neighbours({first, second}) == std::vector<std::string>{"192.168.100.14"});
}

TEST_CASE("storage over a network is told and left alone") {
  auto machine = bare_spark(1);
  machine.facts->survey.emplace();
  machine.facts->survey->fstab = {{"/dev/disk/by-id/nvme-x", "/mnt/models", "ext4", "ro,_netdev"},
                                  {"UUID=1", "/", "ext4", "defaults"}};
  const std::string text = draft_of({machine});
  CHECK(contains(text, "  # /etc/fstab mounts /mnt/models from /dev/disk/by-id/nvme-x (ext4).\n"));
  CHECK_FALSE(contains(text, "UUID=1"));
}

TEST_CASE("an MTU that somebody has set stays, with a word about it") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  int number = 10;
  for (auto* machine : {&first, &second}) {
    const std::string last = std::to_string(++number) + "/24";
    set_address(*machine, "enp1s0f1np1", "192.168.100." + last, 1500);
    set_address(*machine, "enP2p1s0f1np1", "192.168.101." + last, 1500);
  }
  const std::string text = draft_of({first, second});
  CHECK(contains(text, "mtu: 1500"));
  CHECK(contains(text, "So is the MTU"));
}

TEST_CASE("names that no node can have, and that several have, are told apart") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  auto third = bare_spark(3);
  first.facts->hostname = second.facts->hostname = "spark";
  third.facts->hostname = "localhost.localdomain";
  const std::string text = draft_of({first, second, third});
  CHECK(contains(text, "name: spark-01,"));
  CHECK(contains(text, "name: spark-02,"));
  CHECK(contains(text, "name: node-01,"));
  const Cluster cluster = loaded(text);
  CHECK(cluster.nodes[2].id == 3);
}

TEST_CASE("names that differ in the case of letters alone are told apart") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  first.facts->hostname = "spark";
  second.facts->hostname = "SPARK";
  const std::string text = draft_of({first, second});
  CHECK(contains(text, "name: spark-01,"));
  CHECK(contains(text, "name: SPARK-02,"));
}

TEST_CASE("a name that ends in a number too large for a network gets an id") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  first.facts->hostname = "spark-1234";
  second.facts->hostname = "spark-7f";
  const Cluster cluster = loaded(draft_of({first, second}));
  CHECK(cluster.nodes[0].id == 1);
  CHECK(cluster.nodes[1].id == 2);
  CHECK(cluster.name == "spark");
}

TEST_CASE("one machine under two names, or a clone, is refused with both") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  second.facts->machine_id = first.facts->machine_id;
  const auto draft = attempt({first, second});
  REQUIRE_FALSE(draft);
  CHECK(draft.error().code == ErrorCode::kInvalidInput);
  CHECK(contains(draft.error().message, "nvidia@10.0.0.11"));
  CHECK(contains(draft.error().message, "nvidia@10.0.0.12"));
}

TEST_CASE("members of two clusters are refused") {
  const auto text = [](const std::string& name, int number) {
    return "version: 1\nname: " + name + "\nsysctl: {vm.swappiness: 10}\nnodes:\n  - {name: n" +
           std::to_string(number) + ", address: 10.0.0." + std::to_string(number) + "}\n";
  };
  auto machines = applied(loaded(text("here", 1)));
  auto others = applied(loaded(text("there", 2)));
  others.front().manifest->roster.uuid = "another";
  machines.push_back(others.front());
  const auto draft = attempt(machines);
  REQUIRE_FALSE(draft);
  CHECK(draft.error().code == ErrorCode::kRefused);
}

TEST_CASE("a machine that cannot be read is a comment; one that the others know stays a member") {
  const std::string bare = draft_of({bare_spark(1), bare_spark(2), unreachable("10.0.0.13")});
  CHECK(contains(bare, "  # Could not be read: connect to 10.0.0.13 port 22: timed out\n"));
  CHECK(contains(bare, "  # - {name: NAME, address: 10.0.0.13}\n"));
  CHECK(loaded(bare).nodes.size() == 2);

  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct}\nnodes:\n"
                     "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n"));
  machines[1] = unreachable("10.0.0.12");
  const Cluster known = loaded(draft_of(machines));
  REQUIRE(known.nodes.size() == 2);
  CHECK(known.nodes[1].maintenance);
  CHECK_FALSE(known.nodes[0].maintenance);
}

TEST_CASE("members that nobody named are kept in the file, and told of") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct}\nnodes:\n"
                     "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n"));
  machines.pop_back();
  const auto draft = attempt(machines);
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.more-members"));
  CHECK(loaded(draft->text).nodes.back().maintenance);
}

TEST_CASE("a member that was installed anew keeps its place; a stranger by its name does not get it") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct}\nnodes:\n"
                     "  - {name: spark-01, id: 5, address: 10.0.0.11}\n"
                     "  - {name: spark-02, id: 7, address: 10.0.0.12}\n"));
  machines[1] = bare_spark(2);
  machines[1].facts->machine_id = "another";
  SECTION("at the member's address") {
    const auto draft = attempt(machines);
    REQUIRE(draft);
    CHECK(contains(draft->text, "installed anew"));
    const Cluster cluster = loaded(draft->text);
    REQUIRE(cluster.nodes.size() == 2);
    CHECK(cluster.nodes[1].name.str() == "spark-02");
    CHECK(cluster.nodes[1].id == 7);
    CHECK_FALSE(cluster.nodes[1].maintenance);
  }
  SECTION("at another address") {
    machines[1].address = machines[1].facts->ssh_server_address = "10.0.0.77";
    const Cluster cluster = loaded(draft_of(machines));
    REQUIRE(cluster.nodes.size() == 3);
    CHECK(cluster.nodes[1].name.str() == "spark-02-01");
    CHECK(cluster.nodes[1].id != 7);
    CHECK(cluster.nodes[2].name.str() == "spark-02");
    CHECK(cluster.nodes[2].id == 7);
    CHECK(cluster.nodes[2].maintenance);
  }
}

TEST_CASE("a clone with the records of a member is another node, and the member keeps what it has") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct}\nnodes:\n"
                     "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n"));
  DraftMachine clone = machines[0];
  clone.address = "10.0.0.13";
  clone.facts->machine_id = "another";
  set_address(clone, "enp1s0f1np1", "192.168.100.11/24");
  const Cluster cluster = loaded(draft_of({clone, machines[0], machines[1]}));
  REQUIRE(cluster.nodes.size() == 3);
  CHECK(cluster.nodes[0].name.str() == "spark-01-01");
  CHECK(cluster.nodes[1].name.str() == "spark-01");
  REQUIRE(cluster.nodes[1].fabric.size() == 2);
  CHECK(cluster.nodes[0].fabric.empty());
}

TEST_CASE("machines that are not alike are told of") {
  auto second = bare_spark(2);
  second.facts->memory_total_bytes /= 2;
  second.facts->os_version = "22.04";
  const auto draft = attempt({bare_spark(1), second});
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.mixed-machines"));
  CHECK(draft->remarks.size() == 2);
  CHECK_FALSE(has_remark(*attempt({bare_spark(1), bare_spark(2)}), "init.mixed-machines"));
}

TEST_CASE("what is managed and cannot be written down again is told of") {
  auto machines = applied(loaded("version: 1\nname: lab\nnodes: [{name: n1, address: 10.0.0.1}]\nhosts: {}\n"));
  auto& resources = machines.front().manifest->resources;
  REQUIRE(resources.size() == 1);
  resources.emplace(ResourceId{"hosts", "no-member-of-ours"}, ManagedResource{Value::map(), {}});
  const auto draft = attempt(machines);
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.not-written"));
}

TEST_CASE("what a machine says of itself cannot break the file") {
  auto machine = bare_spark(1);
  machine.facts->os_name = "Ubuntu\n24.04\x1b[31m: [";
  machine.facts->product = "a # b: {";
  machine.facts->hostname = "x\ny";
  CHECK(loaded(draft_of({machine})).nodes.size() == 1);
}

TEST_CASE("whatever a value is, the file gives it back") {
  for (const std::string value :
       {"",           " ",     "yes",         "No",          "null",     "~",    "1",   "1.5", "0x10", "007", "1e3",
        "2026-01-01", ".inf",  "a b",         "a: b",        "a #b",     "#a",   "- a", "[a",  "{a",   "a,b", "\"a\"",
        "'a'",        "\\",    "a\\nb",       "&a",          "*a",       "!a",   "%a",  "@a",  "`a`",  "|",   ">",
        "ä",          "=ens1", "/path/to/it", "10.0.0.1/24", "12:30:45", "true", "+1",  "-",   "?"}) {
    INFO(value);
    const Value file =
        Value::map({{"version", 1, {}},
                    {"name", "lab", {}},
                    {"profile_env", Value::map({{"X", value, {}}}), {}},
                    {"nodes", Value::list({Value::map({{"name", "n1", {}}, {"address", "h", {}}})}), {}}});
    YamlWriter writer;
    for (const MapEntry& entry : *file.entries()) writer.entry(entry.key, entry.value);
    const Cluster cluster = loaded(writer.take());
    CHECK(cluster.nodes.front().sections.at("profile_env").text_or("X", "?") == value);
  }
}

}  // namespace sparkplan
