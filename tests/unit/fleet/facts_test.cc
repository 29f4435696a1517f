// The facts that a run requests from its nodes.
#include "engine/load/load.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {

TEST_CASE("the exports of all nodes are requested if one node has the section, and not otherwise") {
  const auto asked = [](const test::FleetBench& bench) {
    auto loaded = load_cluster(bench.file(), "cluster.yaml", builtin_registry());
    REQUIRE(loaded.cluster);
    FleetSession session(*loaded.cluster, builtin_registry(), bench.run);
    session.open();
    std::string nodes;
    for (const FleetNode& node : session.nodes()) {
      REQUIRE_FALSE(node.error);
      if (node.known.exports.contains("mount")) nodes += node.name() + " ";
    }
    return nodes;
  };
  test::FleetBench bench(3);
  CHECK(asked(bench).empty());
  bench.extra[1] = ", storage: [{target: /mnt/data, source: {tmpfs: {size: 1GiB}}}]";
  CHECK(asked(bench) == "n1 n2 n3 ");
}

}  // namespace sparkplan
