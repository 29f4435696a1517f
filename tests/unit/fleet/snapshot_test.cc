// The part of a node that pages show: its versions, and the halves of its fabric.
#include "engine/fleet/session/node_snapshot.h"

#include <algorithm>

#include "engine/load/load.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

Cluster lab_cluster() {
  auto loaded = load_cluster(
      "version: 1\nname: lab\nprofile: dgx-spark\nssh: {user: nvidia}\nfabric: {topology: switch}\nnodes:\n"
      "  - {name: spark-01, address: 10.0.0.11}\n  - {name: spark-02, address: 10.0.0.12}\n",
      "cluster.yaml", builtin_registry());
  for (const auto& one : loaded.diagnostics) UNSCOPED_INFO(one.message);
  REQUIRE(loaded.cluster);
  return *std::move(loaded.cluster);
}

LinkFacts link_of(const std::string& name, const std::string& pci) {
  LinkFacts link;
  link.name = name;
  link.port = "p1";
  link.pci = pci;
  link.up = link.carrier = true;
  return link;
}

Facts spark() {
  Facts facts;
  facts.product = "NVIDIA DGX Spark";
  facts.kernel = "6.14.0-1013-nvidia";
  facts.host.gpu_driver = "580.95.05";
  facts.links = {link_of("enp1s0f1np1", "0000:01:00.1"), link_of("enP2p1s0f1np1", "0002:01:00.1")};
  return facts;
}

std::string version_of(const NodeSnapshot& snapshot, const std::string& label) {
  for (const VersionFact& version : snapshot.versions) {
    if (version.label == label) return version.text;
  }
  return "there is no " + label;
}

NodeSnapshot first_node(const Facts& facts) {
  const Cluster cluster = lab_cluster();
  return snapshot_of(cluster.nodes[0], facts, cluster.profile);
}

}  // namespace

TEST_CASE("a snapshot has the same versions for every node, each once, and none as an empty text") {
  Facts facts = spark();
  const NodeSnapshot without = first_node(facts);
  CHECK(without.node == "spark-01");
  CHECK(version_of(without, "Machine") == "NVIDIA DGX Spark");
  CHECK(version_of(without, "Kernel") == "6.14.0-1013-nvidia");
  CHECK(version_of(without, "GPU driver") == "580.95.05");
  CHECK(version_of(without, "NCCL").empty());
  CHECK(version_of(without, "Adapter firmware").empty());
  facts.extended.emplace();
  for (const char* firmware : {"28.45.4028", "", "28.45.4028", "28.46.1006"}) {
    facts.extended->rdma_firmware.emplace_back().firmware = firmware;
  }
  const NodeSnapshot with = first_node(facts);
  CHECK(version_of(with, "Adapter firmware") == "28.45.4028, 28.46.1006");
  const bool same = std::equal(with.versions.begin(), with.versions.end(), without.versions.begin(),
                               without.versions.end(), [](const auto& a, const auto& b) { return a.label == b.label; });
  CHECK(same);
}

TEST_CASE("a snapshot says why a half is down") {
  Facts facts = spark();
  const NodeSnapshot up = first_node(facts);
  REQUIRE(up.halves.size() == 2);
  CHECK(up.halves[0].label == "A");
  CHECK(up.halves[0].interface == "enp1s0f1np1");
  CHECK(up.halves[0].state == HalfState::kUp);
  CHECK(up.halves[0].reason.empty());
  CHECK(up.halves[1].label == "B");
  CHECK(up.halves[1].interface == "enP2p1s0f1np1");
  facts.links[0].carrier = false;
  facts.links[1].up = false;
  const NodeSnapshot down = first_node(facts);
  CHECK(down.halves.at(0).state == HalfState::kDown);
  CHECK(down.halves.at(0).reason == "no carrier");
  CHECK(down.halves.at(1).state == HalfState::kDown);
  CHECK(down.halves.at(1).reason == "not enabled");
}

TEST_CASE("a half without a link is down on a running node, and unknown elsewhere") {
  Facts facts = spark();
  facts.links.clear();
  const NodeSnapshot without_cable = first_node(facts);
  REQUIRE(without_cable.halves.size() == 2);
  CHECK(without_cable.halves[0].interface == "enp1s0f1np1");
  CHECK(without_cable.halves[0].state == HalfState::kDown);
  CHECK_FALSE(without_cable.halves[0].reason.empty());
  facts.live = false;
  const NodeSnapshot image = first_node(facts);
  CHECK(image.halves.at(0).state == HalfState::kUnknown);
  CHECK(image.halves.at(0).reason.empty());
  // Another machine without the port: not even the name of the interface is known.
  facts.live = true;
  facts.product = "PC";
  const NodeSnapshot other = first_node(facts);
  CHECK(other.halves.at(0).state == HalfState::kUnknown);
  CHECK(other.halves.at(0).interface.empty());
}

TEST_CASE("a session gives snapshots of the nodes that it has read, and of no others") {
  test::FleetBench bench(3);
  bench.extra[1] = ", maintenance: true";
  bench.root(1).write("/etc/os-release", "PRETTY_NAME=\"Test OS\"\n");
  auto loaded = load_cluster(bench.file(), "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  FleetSession session(*loaded.cluster, builtin_registry(), bench.run);
  CHECK(snapshots_of(session).empty());
  session.open();
  const auto snapshots = snapshots_of(session);
  REQUIRE(snapshots.size() == 2);
  CHECK(snapshots[0].node == "n1");
  CHECK(version_of(snapshots[0], "OS") == "Test OS");
  CHECK(snapshots[1].node == "n3");
  session.give_up(session.nodes().front(), ErrorCode::kUnreachable, "lost");
  REQUIRE(snapshots_of(session).size() == 1);
  CHECK(snapshots_of(session)[0].node == "n3");
}

}  // namespace sparkplan
