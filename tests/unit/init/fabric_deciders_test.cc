// Machines that decide about the fabric of others, and how `init` names them.
#include "tests/support/catch.h"
#include "tests/unit/init/machines.h"

namespace sparkplan::test {
TEST_CASE("one manifest does not keep a fabric from the other machines") {
  /// The nodes of the file, and then new machines, three in all.
  const auto three = [](const std::string& nodes) {
    auto machines = applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nnodes:\n" + nodes));
    for (int i = static_cast<int>(machines.size()) + 1; i <= 3; ++i) machines.push_back(bare_spark(i));
    for (int i = 1; i <= 3; ++i) machines[static_cast<std::size_t>(i) - 1].facts->links = bare_spark(i).facts->links;
    return machines;
  };
  const std::string first = "  - {name: spark-01, address: 10.0.0.11, sysctl: {vm.swappiness: 10}}\n";
  const std::string second = "  - {name: spark-02, address: 10.0.0.12, sysctl: {vm.swappiness: 10}}\n";
  const std::string fabric = "\nfabric: {topology: switch, port: 1}\n";
  CHECK(contains(draft_of(three(first)), fabric));
  // Two manifests may say that the machines have none, and so may one for its own machine.
  CHECK_FALSE(contains(draft_of(three(first + second)), "\nfabric:"));
  auto alone = three(first);
  alone.resize(1);
  CHECK_FALSE(contains(draft_of(alone), "\nfabric:"));

  // The addresses that sparkplan manages on the port stay.
  const auto draft = attempt(
      three("  - {name: spark-01, address: 10.0.0.11, interfaces: [{name: enp1s0f1np1, address: 10.0.20.11/24}]}\n"));
  REQUIRE(draft);
  CHECK(contains(draft->text, fabric));
  CHECK_FALSE(has_remark(*draft, "init.not-written"));
  CHECK(contains(unwrapped(draft->text), "spark-01 has no part in the fabric"));
  const Cluster cluster = loaded(draft->text);
  CHECK(cluster.nodes[0].fabric.empty());
  CHECK(contains(draft->text, "10.0.20.11/24"));
  CHECK(cluster.nodes[1].fabric.size() == 2);
}

TEST_CASE("one managed machine without a managed fabric keeps the addresses that its port has") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nsysctl: {vm.swappiness: 10}\n"
                     "nodes: [{name: spark-01, address: 10.0.0.11}]\n"));
  machines.push_back(bare_spark(2));
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string last = std::to_string(i + 11) + "/24";
    set_address(machines[i], "enp1s0f1np1", "192.168.100." + last);
    set_address(machines[i], "enP2p1s0f1np1", "192.168.101." + last);
  }
  CHECK(contains(draft_of(machines), "\nfabric: {topology: direct, port: 1, adopt: keep}\n"));
  CHECK_FALSE(contains(draft_of(machines), "fabric: null"));
}

TEST_CASE("networks that one machine names for the fabric of the others are a warning") {
  std::vector<InitMachine> machines{bare_spark(1), bare_spark(2), bare_spark(3)};
  const auto configure = [&](std::size_t at) {
    const std::string last = std::to_string(at + 11) + "/24";
    set_address(machines[at], "enp1s0f1np1", "198.51.100." + last);
    set_address(machines[at], "enP2p1s0f1np1", "198.51.101." + last);
  };
  configure(0);
  const auto draft = attempt(machines);
  REQUIRE(draft);
  CHECK(contains(draft->text, "subnets: [198.51.100.0/24, 198.51.101.0/24]"));
  CHECK(has_remark(*draft, "init.unsupported-fabric"));
  CHECK(contains(unwrapped(draft->text),
                 "only spark-01 has fabric addresses: the file gives spark-[02-03] addresses of "
                 "the same networks, 198.51.100.0/24, 198.51.101.0/24"));
  configure(1);
  const auto agreed = attempt(machines);
  REQUIRE(agreed);
  CHECK_FALSE(has_remark(*agreed, "init.unsupported-fabric"));
}

TEST_CASE("a port and an MTU that one machine names for the fabric of the others are a warning") {
  auto third = bare_spark(3);
  for (const char* half : {"enp1s0f0np0", "enP2p1s0f0np0"}) set_address(third, half, "169.254.9.9/16", 1400);
  const auto draft = attempt({bare_spark(1), bare_spark(2), third});
  REQUIRE(draft);
  CHECK(
      contains(unwrapped(draft->text),
               "only spark-03 has fabric addresses: the file gives spark-[01-02] link-local addresses, with {topology: "
               "switch, port: 0, mtu: 1400, link_local: ipv4}; without spark-03, it would be {topology: switch, port: "
               "1}"));
  auto second = bare_spark(2);
  for (const char* half : {"enp1s0f0np0", "enP2p1s0f0np0"}) set_address(second, half, "169.254.9.8/16", 1400);
  CHECK_FALSE(has_remark(*attempt({bare_spark(1), second, third}), "init.unsupported-fabric"));
}

TEST_CASE("a machine whose address alone keeps the others from a fabric is named") {
  std::vector<InitMachine> machines{bare_spark(1), bare_spark(2), bare_spark(3), bare_spark(4)};
  const bool have_fabric = GENERATE(false, true);
  for (std::size_t i = 1; have_fabric && i < 3; ++i) {
    const std::string last = std::to_string(i + 11) + "/24";
    set_address(machines[i], "enp1s0f1np1", "192.168.100." + last);
    set_address(machines[i], "enP2p1s0f1np1", "192.168.101." + last);
  }
  link_of(machines[3], "enp1s0f1np1").addresses = {"192.168.100.5/24"};
  const auto draft = attempt(machines);
  REQUIRE(draft);
  CHECK(contains(remarks_of(*draft, "init.unsupported-fabric"),
                 std::string("the fabric addresses of spark-04 fit no topology: the file gives spark-") +
                     (have_fabric ? "01" : "[01-03]") +
                     " no fabric; without spark-04, {topology: switch, port: 1} would fit"));
  CHECK(contains(unwrapped(draft->text), "Note: the fabric addresses of spark-04 fit no topology"));
}

TEST_CASE("a machine whose address alone keeps the fabric from the file is named") {
  std::vector<InitMachine> machines{bare_spark(1), bare_spark(2), bare_spark(3)};
  for (std::size_t i = 0; i < 2; ++i) {
    const std::string last = std::to_string(i + 11) + "/24";
    set_address(machines[i], "enp1s0f1np1", "192.168.100." + last);
    set_address(machines[i], "enP2p1s0f1np1", "192.168.101." + last);
  }
  std::string named = "spark-03";
  SECTION("the management network") { set_address(machines[2], "enp1s0f1np1", "10.0.0.99/24"); }
  SECTION("the address of another machine") {
    set_address(machines[2], "enp1s0f1np1", "192.168.100.11/24");
    named = "one of spark-[01,03]";
  }
  SECTION("the addresses of two other machines") {
    set_address(machines[2], "enp1s0f1np1", "192.168.100.11/24");
    set_address(machines[2], "enP2p1s0f1np1", "192.168.101.12/24");
  }
  const auto draft = attempt(machines);
  REQUIRE(draft);
  CHECK(contains(remarks_of(*draft, "init.no-fabric"), "; without " + named + ", the file would have one\n"));
}

TEST_CASE("machines that each list their own fabric addresses have none named") {
  for (const std::size_t count : {2U, 3U}) {
    std::vector<InitMachine> machines;
    for (std::size_t i = 0; i < count; ++i) {
      machines.push_back(bare_spark(static_cast<int>(i) + 1));
      // The first address derives from no id, as in a guide for two machines.
      set_address(machines[i], "enp1s0f1np1", "192.168.100." + std::to_string(i + 10) + "/24");
    }
    const auto draft = attempt(machines);
    REQUIRE(draft);
    CHECK(contains(draft->text, "derive from no id"));
    CHECK(draft->remarks.empty());
  }
}

TEST_CASE("two managed machines with fabric addresses of their own are named together if others get none") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct}\nnodes:\n"
                     "  - {name: spark-01, address: 10.0.0.11, fabric: {interfaces: [{name: enp1s0f1np1, address: "
                     "10.9.0.1/30}, {name: enP2p1s0f1np1, address: 10.9.0.5/30}]}}\n"
                     "  - {name: spark-02, address: 10.0.0.12, fabric: {interfaces: [{name: enp1s0f1np1, address: "
                     "10.9.0.2/30}, {name: enP2p1s0f1np1, address: 10.9.0.6/30}]}}\n"));
  for (int i = 3; i <= 8; ++i) machines.push_back(bare_spark(i));
  const auto draft = attempt(machines);
  REQUIRE(draft);
  CHECK(
      remarks_of(*draft, "init.unsupported-fabric") ==
      "only spark-[01-02] have fabric addresses, and these fit no topology: the file gives spark-[03-08] no fabric\n");
  const Cluster cluster = loaded(draft->text);
  CHECK(cluster.nodes[0].fabric.size() == 2);
  CHECK(cluster.nodes[7].fabric.empty());
}

}  // namespace sparkplan::test
