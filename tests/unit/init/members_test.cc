// The members that `init` writes, with their names and numbers, and the members that it leaves out.
#include "engine/init/members.h"
#include "tests/support/catch.h"
#include "tests/unit/init/machines.h"

namespace sparkplan::test {
TEST_CASE("invalid and repeated host names are replaced by unique names") {
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

TEST_CASE("a machine whose host name no node may have gets another name") {
  auto second = bare_spark(2);
  second.facts->hostname = GENERATE("here", "HERE.lan", "LocalHost");
  const std::string text = draft_of({bare_spark(1), second, bare_spark(3)});
  CHECK(contains(text, "# the machine's host name is \"" + second.facts->hostname + "\", not a valid node name\n"));
  const Cluster cluster = loaded(text);
  REQUIRE(cluster.nodes.size() == 3);
  CHECK(cluster.nodes[0].name.str() == "spark-01");
  CHECK(cluster.nodes[1].name.str() == "node-01");
  CHECK(cluster.nodes[2].name.str() == "spark-03");
}

TEST_CASE("machines that share the longest host name get numbered names that are no longer") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  first.facts->hostname = second.facts->hostname = std::string(63, 'a');
  const Cluster cluster = loaded(draft_of({first, second, bare_spark(3)}));
  REQUIRE(cluster.nodes.size() == 3);
  CHECK(cluster.nodes[0].name.str() == std::string(60, 'a') + "-01");
  CHECK(cluster.nodes[1].name.str() == std::string(60, 'a') + "-02");
}

TEST_CASE("names that differ only in case get unique names") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  first.facts->hostname = "spark";
  second.facts->hostname = "SPARK";
  const std::string text = draft_of({first, second});
  CHECK(contains(text, "name: spark-01,"));
  CHECK(contains(text, "name: SPARK-02,"));
}

TEST_CASE("a name whose number is too large for a network gets an explicit id") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  first.facts->hostname = "spark-1234";
  second.facts->hostname = "spark-7f";
  const Cluster cluster = loaded(draft_of({first, second}));
  CHECK(cluster.nodes[0].id == 1);
  CHECK(cluster.nodes[1].id == 2);
  CHECK(cluster.name == "spark");
}

TEST_CASE("two addresses of one machine, or of a clone, are refused, and both are named") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  second.facts->machine_id = first.facts->machine_id;
  const auto draft = attempt({first, second});
  REQUIRE_FALSE(draft);
  CHECK(draft.error().code == ErrorCode::kInvalidInput);
  CHECK(contains(draft.error().message, "nvidia@10.0.0.11"));
  CHECK(contains(draft.error().message, "nvidia@10.0.0.12"));
}

TEST_CASE("a machine that claims another's machine-id excludes only these two machines") {
  auto first = bare_spark(1);
  auto second = bare_spark(2);
  const auto third = bare_spark(3);
  second.facts->machine_id = first.facts->machine_id;
  const auto draft = attempt({first, second, third});
  REQUIRE(draft);
  CHECK(contains(draft->text, "spark-03"));
  CHECK_FALSE(contains(draft->text, "name: spark-01"));
  CHECK_FALSE(contains(draft->text, "name: spark-02"));
  CHECK(std::count_if(draft->remarks.begin(), draft->remarks.end(),
                      [](const Diagnostic& remark) { return remark.code == "init.same-machine-id"; }) == 2);
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

TEST_CASE("an unreadable machine becomes a comment, or a member in maintenance if the others know it") {
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

TEST_CASE("members missing from the command line stay in the file, with a remark") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct}\nnodes:\n"
                     "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n"));
  machines.pop_back();
  const auto draft = attempt(machines);
  REQUIRE(draft);
  CHECK(has_remark(*draft, "init.more-members"));
  CHECK(loaded(draft->text).nodes.back().maintenance);
}

TEST_CASE("a reinstalled member keeps its entry, and an unknown machine with its name does not get it") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct}\nnodes:\n"
                     "  - {name: spark-01, id: 5, address: 10.0.0.11}\n"
                     "  - {name: spark-02, id: 7, address: 10.0.0.12}\n"));
  machines[1] = bare_spark(2);
  machines[1].facts->machine_id = "another";
  SECTION("at the member's address") {
    const auto draft = attempt(machines);
    REQUIRE(draft);
    CHECK(contains(draft->text, "reinstalled"));
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

TEST_CASE("a machine with a member's machine-id and another host key gets the entry with a remark") {
  const Cluster cluster = loaded(
      "version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct}\nnodes:\n"
      "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n");
  auto machines = applied(cluster);
  for (InitMachine& machine : machines) {
    for (RosterEntry& entry : machine.manifest->roster.members) entry.host_key = "SHA256:" + entry.name;
  }
  machines[0].host_key = "SHA256:spark-01";
  machines[1].host_key = GENERATE("SHA256:spark-02", "SHA256:another");
  const bool is_recorded = machines[1].host_key == "SHA256:spark-02";
  CHECK(contains(draft_of(machines), "not the one that the cluster has recorded") != is_recorded);
}

TEST_CASE("a clone with a member's records becomes another node, and the member keeps its entry") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct}\nnodes:\n"
                     "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n"));
  InitMachine clone = machines[0];
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

TEST_CASE("the manifest of one machine decides no section, profile or name for the other machines") {
  auto machines =
      applied(loaded("version: 1\nname: evil\nssh: {user: nvidia}\nsysctl: {vm.swappiness: 99}\nunits:\n"
                     "  - {name: evil.service, content: "
                     "\"[Service]\\nExecStart=/bin/evil\\n\\n[Install]\\nWantedBy=multi-user.target\\n\", "
                     "enabled: true}\n"
                     "nodes: [{name: spark-01, address: 10.0.0.11}]\n"));
  machines.front().facts->product = "DGX Spark";
  SECTION("if others were read") {
    machines.push_back(bare_spark(2));
    machines.push_back(bare_spark(3));
    const auto draft = attempt(machines);
    REQUIRE(draft);
    CHECK(has_remark(*draft, "init.unsupported-name"));
    const Cluster cluster = loaded(draft->text);
    CHECK(cluster.name == "spark");
    CHECK(cluster.profile == "dgx-spark");
    REQUIRE(cluster.nodes.size() == 3);
    CHECK(cluster.nodes[0].sections.contains("units"));
    CHECK(cluster.nodes[0].sections.at("sysctl").integer_or("vm.swappiness", 0) == 99);
    for (const std::size_t other : {1U, 2U}) {
      CHECK_FALSE(cluster.nodes[other].sections.contains("units"));
      CHECK(cluster.nodes[other].sections.at("sysctl").find("vm.swappiness") == nullptr);
    }
  }
  SECTION("and everything in a file of its own") {
    const auto draft = attempt(machines);
    REQUIRE(draft);
    CHECK_FALSE(has_remark(*draft, "init.unsupported-name"));
    const Cluster cluster = loaded(draft->text);
    CHECK(cluster.name == "evil");
    CHECK(cluster.nodes[0].sections.contains("units"));
  }
}

TEST_CASE("what the manifests of two machines share is asked of a new machine as well") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nsysctl: {vm.swappiness: 10}\nnodes:\n"
                     "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n"));
  machines.push_back(bare_spark(3));
  const Cluster cluster = loaded(draft_of(machines));
  CHECK(cluster.name == "lab");
  REQUIRE(cluster.nodes.size() == 3);
  CHECK(cluster.nodes[2].sections.at("sysctl").integer_or("vm.swappiness", 0) == 10);
}

TEST_CASE("one manifest of three does not rename the cluster") {
  auto machines =
      applied(loaded("version: 1\nname: lab\nssh: {user: nvidia}\nsysctl: {vm.swappiness: 10}\nnodes:\n"
                     "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n"
                     "  - {name: spark-03, address: 10.0.0.13}\n"));
  machines[0].manifest->roster.cluster = "evil";
  CHECK(loaded(draft_of(machines)).name == "lab");
}

TEST_CASE("one manifest of two does not empty the other machine's network definitions") {
  auto machines = applied(
      loaded("version: 1\nname: lab\nssh: {user: nvidia}\nfabric: {topology: direct, adopt: take-over}\nnodes:\n"
             "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n"));
  CHECK(contains(draft_of(machines), "adopt: take-over}"));
  for (auto& [id, resource] : machines[1].manifest->resources) resource.last_applied.erase("also_defined_in");
  const std::string text = draft_of(machines);
  CHECK_FALSE(contains(text, "adopt: take-over}"));
  CHECK(contains(text, "Only spark-01 took the fabric over"));
}

TEST_CASE("a discovered machine that is already listed is contacted once") {
  const auto found_at = [](const std::string& address, int number) {
    InitMachine machine = bare_spark(number);
    machine.given = machine.address = address;
    return machine;
  };
  std::vector<InitMachine> machines{bare_spark(1),
                                    bare_spark(2),
                                    found_at("10.0.1.11", 1),
                                    found_at("10.0.1.13", 3),
                                    unreachable("10.0.1.14"),
                                    unreachable("10.0.1.15"),
                                    found_at("10.0.2.13", 3)};
  const auto remarks = drop_second_contacts(machines, 2);
  std::vector<std::string> left;
  for (const InitMachine& machine : machines) left.push_back(machine.address);
  CHECK(left == std::vector<std::string>{"10.0.0.11", "10.0.0.12", "10.0.1.13", "10.0.1.14", "10.0.1.15"});
  REQUIRE(remarks.size() == 2);
  CHECK(remarks[0].severity == Severity::kWarning);
  CHECK(remarks[0].message ==
        "10.0.1.11 has the machine-id of nvidia@10.0.0.11, machine-of-spark-01: treated as the same machine, and "
        "skipped");
  CHECK(contains(remarks[1].message, "10.0.2.13 has the machine-id of 10.0.1.13"));
}

TEST_CASE("a machine that claims the machine-id of a discovered one does not take its place") {
  const auto with_key = [](int number, const std::string& host_key, const std::vector<std::string>& reported) {
    InitMachine machine = bare_spark(number);
    machine.host_key = host_key;
    for (const std::string& one : reported) machine.facts->host.host_keys.push_back({"ssh-ed25519", one});
    return machine;
  };
  // The first one reports the machine-id and the host keys of the second one. The third one is the second one again.
  std::vector<InitMachine> machines{with_key(1, "SHA256:A", {"SHA256:A", "SHA256:B", "SHA256:C"}),
                                    with_key(1, "SHA256:B", {"SHA256:B", "SHA256:C"}),
                                    with_key(1, "SHA256:C", {"SHA256:B", "SHA256:C"})};
  CHECK(drop_second_contacts(machines, 1).size() == 1);
  REQUIRE(machines.size() == 2);
  CHECK(machines[0].host_key == "SHA256:A");
  CHECK(machines[1].host_key == "SHA256:B");
}

TEST_CASE("two machines given by the user stay two, whatever their machine-id") {
  std::vector<InitMachine> machines{bare_spark(1), bare_spark(1)};
  CHECK(drop_second_contacts(machines, 2).empty());
  CHECK(machines.size() == 2);
}

}  // namespace sparkplan::test
