// The fabric in the file from `init`: existing ports, cables, and unclear input.
#include <ctime>

#include "engine/init/fabric_found.h"
#include "tests/support/catch.h"
#include "tests/unit/init/machines.h"

namespace sparkplan::test {
TEST_CASE("new DGX Sparks are drafted without a cable, with two, and in a ring") {
  const auto fabric_of = [](std::vector<InitMachine> machines) {
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

TEST_CASE("a machine with thousands of links and profiles costs init less than five seconds") {
  auto machine = bare_spark(1);
  for (int i = 0; i < 4000; ++i) {
    LinkFacts link;
    link.name = "en" + std::to_string(i) + "np1";
    link.profile = "profile-" + std::to_string(i);
    link.rdma_devices = {"mlx5_" + std::to_string(i)};
    machine.facts->links.push_back(link);
    NetworkProfile profile;
    profile.uuid = "other-" + std::to_string(i);
    machine.facts->host.network_profiles.push_back(profile);
  }
  Member member;
  member.machine = &machine;
  member.name = "spark-01";
  const std::clock_t begin = std::clock();  // Processor time: other programs may run.
  CHECK(found_fabric(member, builtin_registry()).interfaces.empty());
  set_address(machine, "en7np1", "10.9.0.1/24");
  // The other links of the port belong to it, so they appear as well.
  CHECK(found_fabric(member, builtin_registry()).interfaces.size() == 4002);
  CHECK((std::clock() - begin) / CLOCKS_PER_SEC < 5);
}

TEST_CASE("cables in different ports give each node its own port") {
  const std::string text = draft_of({bare_spark(1, {1}), bare_spark(2, {0}), bare_spark(3, {1})});
  CHECK(contains(text, "fabric: {topology: switch, port: 1}"));
  CHECK(contains(text, "{name: spark-02, address: 10.0.0.12, fabric: {port: 0}}"));
  CHECK_FALSE(contains(text, "{name: spark-03, address: 10.0.0.13, fabric"));
  CHECK_FALSE(contains(text, "a guess"));
}

TEST_CASE("a machine that alone keeps a port or a topology from the file is named") {
  const auto text_of = [](const std::vector<InitMachine>& machines) {
    const auto draft = attempt(machines);
    REQUIRE(draft);
    return unwrapped(draft->text);
  };
  // It claims that its SSH connection uses a bond of both ports.
  auto bonded = bare_spark(1, {1});
  LinkFacts bond;
  bond.name = "bond0";
  bond.kind = "bond";
  bond.addresses = {bonded.address + "/24"};
  bonded.facts->links.push_back(bond);
  link_of(bonded, "enP7s7").addresses.clear();
  for (const char* half : {"enp1s0f0np0", "enP2p1s0f0np0", "enp1s0f1np1", "enP2p1s0f1np1"})
    link_of(bonded, half).master = "bond0";
  const std::string none = text_of({bonded, bare_spark(2, {1})});
  CHECK(contains(none, "No suitable QSFP port was found"));
  CHECK(contains(none, "Without spark-01, `topology: direct, port: 1` would fit"));

  const std::string pair = text_of({bare_spark(1, {1}), bare_spark(2, {0, 1})});
  CHECK(contains(pair, "fabric: {topology: direct, port: 1}"));
  CHECK(contains(pair, "Without spark-01, `topology: dual-cable` would fit"));
  const std::string ring = text_of({bare_spark(1, {0, 1}), bare_spark(2, {}), bare_spark(3, {0, 1})});
  CHECK(contains(ring, "a guess"));
  CHECK(contains(ring, "Without spark-02, `topology: ring` would fit"));
  CHECK_FALSE(contains(ring, "port: 0` would fit"));
  const std::string two =
      text_of({bare_spark(1, {0, 1}), bare_spark(2, {1}), bare_spark(3, {0}), bare_spark(4, {0, 1})});
  CHECK_FALSE(contains(two, "topology: ring"));
  CHECK(contains(two, "Without spark-03, `topology: switch, port: 1` would fit"));
  CHECK(contains(two, "Without spark-02, `topology: switch, port: 0` would fit"));
}

TEST_CASE("machines that agree on their ports, or each have a link on one of them, have none named") {
  for (const auto& ports : std::vector<std::vector<int>>{{}, {0}, {1}, {0, 1}})
    CHECK_FALSE(contains(draft_of({bare_spark(1, ports), bare_spark(2, ports)}), "would fit"));
  CHECK_FALSE(contains(draft_of({bare_spark(1, {1}), bare_spark(2, {0}), bare_spark(3, {1})}), "would fit"));
  CHECK_FALSE(contains(draft_of({bare_spark(1, {1}), unreachable("10.0.0.12")}), "would fit"));
}

TEST_CASE("addresses derived from other ids give the nodes these ids") {
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

TEST_CASE("the interface of our own connection is never part of the fabric") {
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

TEST_CASE("a new fabric avoids the machines' networks") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  link_of(first, "enP7s7").addresses.push_back("192.168.101.77/24");
  const std::string text = draft_of({first, second});
  CHECK(contains(text, "fabric: {topology: direct, port: 1, subnets: [10.100.0.0/24, 10.100.1.0/24]}"));
}

TEST_CASE("a new fabric avoids networks that a machine has a route to") {
  auto first = bare_spark(1);
  first.facts->host.routes.push_back({"tun0", "192.168.0.0/16", "10.0.0.1", 0, "static", false, 254});
  first.facts->host.routes.push_back({"enP7s7", "0.0.0.0/0", "10.0.0.1", 0, "dhcp", false, 254});
  CHECK(contains(draft_of({first, bare_spark(2)}), "subnets: [10.100.0.0/24, 10.100.1.0/24]"));
}

TEST_CASE("without a free private network the file has no fabric, and a remark explains it") {
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
  CHECK(contains(unwrapped(draft->text), "some contain only those of spark-01"));
}

TEST_CASE("a machine that names addresses in all private networks is named, and costs less than five seconds") {
  auto honest = bare_spark(1, {0, 1});
  auto other = bare_spark(2, {0, 1});
  honest.facts->host.routes.push_back({"tun0", "172.16.0.0/12", "10.0.0.1", 0, "static", false, 254});
  auto& addresses = link_of(other, "enP7s7").addresses;
  for (const std::string start : {"192.168.", "10.", "172."}) {
    const bool is_short = start != "192.168.";
    for (int second = is_short ? 0 : 255; second < 256; ++second) {
      for (int third = 0; third < 256; ++third) {
        const std::string network =
            is_short ? std::to_string(second) + "." + std::to_string(third) : std::to_string(third);
        addresses.push_back(start + network + (is_short ? ".9/32" : "." + std::to_string(second) + "/32"));
      }
    }
  }
  const std::clock_t begin = std::clock();  // Processor time: other programs may run.
  const auto draft = attempt({honest, other});
  CHECK((std::clock() - begin) / CLOCKS_PER_SEC < 5);
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.no-fabric"));
  CHECK(contains(unwrapped(draft->text), "some contain only those of spark-02"));
}

TEST_CASE("inconsistent existing addresses give a file without a fabric, and a remark explains it") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  set_address(first, "enp1s0f1np1", "192.168.100.11/24");
  set_address(second, "enp1s0f1np1", "192.168.100.12/24");
  SECTION("both halves in one network") {
    set_address(first, "enP2p1s0f1np1", "192.168.100.111/24");
    set_address(second, "enP2p1s0f1np1", "192.168.100.112/24");
  }
  SECTION("one address on both nodes") { set_address(second, "enp1s0f1np1", "192.168.100.11/24"); }
  SECTION("the management network") { set_address(second, "enp1s0f1np1", "10.0.0.112/24"); }
  SECTION("an MTU too small for the fabric") { link_of(first, "enp1s0f1np1").mtu = 1000; }
  SECTION("a node reached at its fabric address") {
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

TEST_CASE("an address from a generated NetworkManager profile is ignored") {
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

TEST_CASE("a neighbour on the fabric that is not one of the machines read is listed") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  set_address(second, "enp1s0f1np1", "192.168.100.12/24");
  first.facts->extended.emplace();
  first.facts->extended->neighbours = {{"enp1s0f1np1", "192.168.100.12", "52:54:00:00:00:02", "reachable"},
                                       {"enp1s0f1np1", "192.168.100.14", "52:54:00:00:00:04", "stale"},
                                       {"enp1s0f1np1", "192.168.100.15", "", "failed"},
                                       {"enp1s0f1np1", "fe80::1", "52:54:00:00:00:05", "reachable"},
                                       {"enP7s7", "10.0.0.99", "52:54:00:00:00:06", "reachable"}};
  CHECK(fabric_neighbours({first, second}) == std::vector<std::string>{"192.168.100.14"});
}

TEST_CASE("a machine that names thousands of neighbours has 256 of them asked about, and the others have theirs") {
  auto liar = bare_spark(1);
  auto honest = bare_spark(2);
  liar.facts->extended.emplace();
  honest.facts->extended.emplace();
  for (int i = 0; i < 5'000; ++i) {
    const std::string address = "10.1." + std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
    liar.facts->extended->neighbours.push_back({"enp1s0f1np1", address, "52:54:00:00:00:04", "stale"});
  }
  honest.facts->extended->neighbours = {{"enp1s0f1np1", "192.168.100.14", "52:54:00:00:00:05", "stale"}};
  const auto neighbours = fabric_neighbours({liar, honest});
  CHECK(neighbours.size() == 257);
  CHECK(neighbours.back() == "192.168.100.14");
}

TEST_CASE("an existing MTU is kept, with a remark") {
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
  CHECK(contains(text, "The MTU also exists already"));
}

TEST_CASE("a bonded port counts as cabled, and its bond is named") {
  std::vector<InitMachine> machines{bare_spark(1), bare_spark(2)};
  for (InitMachine& machine : machines) {
    LinkFacts bond;
    bond.name = "bond0";
    bond.kind = "bond";
    bond.up = bond.carrier = true;
    bond.addresses = {"192.168.200.1" + machine.address.substr(machine.address.size() - 1) + "/24"};
    machine.facts->links.push_back(bond);
    for (const char* half : {"enp1s0f1np1", "enP2p1s0f1np1"}) link_of(machine, half).master = "bond0";
  }
  const std::string text = unwrapped(draft_of(machines));
  CHECK(contains(text, "fabric: {topology: direct, port: 1}"));
  CHECK(contains(text, " Port 1 has a link on all nodes."));
  INFO(text);
  for (const std::string half : {"enp1s0f1np1", "enP2p1s0f1np1"}) CHECK(contains(text, half + " belongs to bond0"));
  // Without the bond the draft does not mention it.
  CHECK_FALSE(contains(draft_of({bare_spark(1), bare_spark(2)}), "belongs to"));
}

}  // namespace sparkplan::test
