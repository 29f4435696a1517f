// The members that manifests list: those that a file may have, and those that it may not.
#include <ctime>

#include "tests/support/catch.h"
#include "tests/unit/init/machines.h"

namespace sparkplan::test {
namespace {

RosterEntry entry_of(const std::string& name, int id, const std::string& address) {
  RosterEntry entry;
  entry.name = name;
  entry.id = id;
  entry.address = address;
  return entry;
}

/// Three new machines. The third one has a manifest that lists these members.
std::vector<InitMachine> one_with_roster(const std::vector<RosterEntry>& entries) {
  std::vector<InitMachine> machines{bare_spark(1), bare_spark(2), bare_spark(3)};
  Manifest manifest;
  manifest.node = "spark-03";
  manifest.roster = Roster{"lab", "11111111-2222-4333-8444-555555555555", 1, entries};
  machines.back().manifest = std::move(manifest);
  return machines;
}

/// The nodes that are not in maintenance.
std::vector<std::string> working_nodes(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const NodeSpec& node : cluster.nodes) {
    if (!node.maintenance) names.push_back(node.name.str());
  }
  return names;
}

}  // namespace

TEST_CASE("a roster entry that no file may have is left out with a remark that names its machine") {
  const RosterEntry own = entry_of("spark-03", 3, "10.0.0.13");
  const RosterEntry sound = entry_of("x-1", 51, "10.9.9.1");
  RosterEntry broken = entry_of("x-2", 52, "10.9.9.2");
  std::string why;
  SECTION("the id of another member") {
    broken.id = 51;
    why = "x-2 (the id 51 belongs to another node)";
  }
  SECTION("an id below zero") {
    broken.id = -7;
    why = "x-2 (no node may have the id -7)";
  }
  SECTION("a name that differs only in case") {
    broken.name = "X-1";
    why = "X-1 (another member has the name)";
  }
  SECTION("the name of the controller") {
    broken.name = "Here";
    why = "Here (no node may have this name)";
  }
  SECTION("no address") {
    broken.address = "";
    why = "x-2 (no address is known)";
  }
  SECTION("an invalid address") {
    broken.address = "10.9.9.2 x";
    why = "x-2 (\"10.9.9.2 x\" is not an address)";
  }
  SECTION("the address of another node, through a jump host") {
    broken.address = "10.0.0.11";
    broken.jump = "10.9.9.9";
    why = "x-2 (another node has the address \"10.0.0.11\")";
  }
  SECTION("an invalid port") {
    broken.port = 0;
    why = "x-2 (";
  }
  SECTION("an invalid login name") {
    broken.user = "a b";
    why = "x-2 (";
  }
  SECTION("an invalid jump host") {
    broken.jump = "-x";
    why = "x-2 (\"-x\" is not a jump host)";
  }
  const auto draft = attempt(one_with_roster({broken, sound, own}));
  REQUIRE(draft);
  const std::string message = remarks_of(*draft, "init.not-written");
  CHECK(contains(message, "the manifest of nvidia@10.0.0.13 lists a member that the file lacks"));
  CHECK(contains(message, why));
  const Cluster cluster = loaded(draft->text);
  CHECK(working_nodes(cluster) == std::vector<std::string>{"spark-01", "spark-02", "spark-03"});
  REQUIRE(cluster.nodes.size() == 4);
  CHECK(cluster.nodes[3].name.str() == "x-1");
  CHECK(cluster.nodes[3].id == 51);
}

TEST_CASE("a manifest that gives one id to two machines that were read keeps both in the file") {
  auto machines = one_with_roster({entry_of("x-1", 7, "10.0.0.11"), entry_of("x-2", 7, "10.0.0.12")});
  auto& members = machines.back().manifest->roster.members;
  for (std::size_t i = 0; i < members.size(); ++i) members[i].machine_id = machines[i].facts->machine_id;
  const Cluster cluster = loaded(draft_of(machines));
  REQUIRE(cluster.nodes.size() == 3);
  CHECK(cluster.nodes[0].id == 7);
  CHECK(cluster.nodes[1].id == 2);
}

TEST_CASE("a manifest with thousands of members leaves room for the machines, in less than five seconds") {
  std::vector<RosterEntry> entries;
  const bool valid = GENERATE(true, false);
  for (int i = 1; i <= 2048; ++i) {
    const std::string last = std::to_string(i / 250) + "." + std::to_string(i % 250 + 1);
    entries.push_back(entry_of("y" + std::to_string(i), i + 10, (valid ? "10.9." : "not an address ") + last));
  }
  const auto machines = one_with_roster(entries);
  const std::clock_t begin = std::clock();  // Processor time: other programs may run.
  const auto draft = attempt(machines);
  CHECK((std::clock() - begin) / CLOCKS_PER_SEC < 5);
  REQUIRE(draft);
  CHECK(contains(remarks_of(*draft, "init.not-written"), valid ? " and 1046 more" : " and 2043 more"));
  const Cluster cluster = loaded(draft->text);
  CHECK(cluster.nodes.size() == (valid ? 1000U : 3U));
  CHECK(working_nodes(cluster) == std::vector<std::string>{"spark-01", "spark-02", "spark-03"});
}

TEST_CASE("members that one manifest alone lists are named with its machine") {
  const auto draft = attempt(one_with_roster({entry_of("x-1", 51, "10.9.9.1")}));
  REQUIRE(draft);
  CHECK(contains(remarks_of(*draft, "init.more-members"),
                 "x-1 belongs to the cluster, too, according to the manifest of nvidia@10.0.0.13 alone, and appears"));
}

}  // namespace sparkplan::test
