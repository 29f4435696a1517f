// An address that leads to another member than the file says.
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::exit_of;
using test::FleetBench;
using test::standing;

/// Three members in sync. From now on the way to n3 ends at n2.
struct RelayedCluster {
  RelayedCluster() : bench(3) {
    for (std::size_t i = 1; i <= 3; ++i) {
      bench.root(i).write("/etc/machine-id", std::string(31, '0') + std::to_string(i) + "\n");
    }
    bench.sections = "sysctl: {vm.swappiness: 10}\n";
    bench.apply_all();
    bench.sections = "sysctl: {vm.swappiness: 20}\n";
    bench.run.agent.connector = [this](const NodeSpec& node, const ConnectOptions& options) {
      NodeSpec way = node;
      if (node.name.str() == "n3") way.root = bench.root(2).path();
      return connect(way, options);
    };
  }

  FleetBench bench;
};

}  // namespace

TEST_CASE("relay: an address that leads to another member is refused alone, and that member is not changed") {
  RelayedCluster cluster;
  FleetBench& bench = cluster.bench;
  const auto before = bench.whole_trees()[1];
  SECTION("an apply of the wrong address only") {
    bench.run.selection = Selection({"n3"}, {});
    const auto report = bench.apply();
    CHECK(exit_of(report) == 9);
    CHECK(standing(report) == "n1 skipped, n2 skipped, n3 refused");
    CHECK(report.nodes[2].error->message.starts_with("n3 leads to the machine of n2: "));
    CHECK(bench.whole_trees()[1] == before);
  }
  SECTION("the others are applied") {
    const auto report = bench.apply();
    CHECK(exit_of(report) == 9);
    CHECK(standing(report) == "n1 applied, n2 applied, n3 refused");
  }
  SECTION("a release of the wrong address") {
    bench.left_out[2] = true;
    bench.extra[1] = ", maintenance: true";
    bench.options.release = "n3";
    bench.options.released_entry =
        NodeSpec{*NodeName::parse("n3"), 3, "", {}, TransportKind::kLocal, bench.root(3).path(), false, {}, {}, {}};
    const auto report = bench.apply();
    CHECK(exit_of(report) == 9);
    CHECK(standing(report).ends_with("n2 skipped, n3 refused"));
    CHECK(bench.whole_trees()[1] == before);
  }
  SECTION("a rollback of the wrong address") {
    bench.run.command = "rollback";
    bench.options.rollback = std::vector<std::string>{"n3"};
    const auto report = bench.apply();
    CHECK(exit_of(report) == 9);
    CHECK(standing(report) == "n1 skipped, n2 skipped, n3 refused");
    CHECK(bench.whole_trees()[1] == before);
  }
}

TEST_CASE("relay: a member without its manifest is recognised by the machine-id that the others recorded") {
  RelayedCluster cluster;
  FleetBench& bench = cluster.bench;
  bench.root(2).remove("/var/lib/sparkplan");
  const auto before = bench.whole_trees()[1];
  bench.run.selection = Selection({"n1", "n3"}, {});
  const auto report = bench.apply();
  CHECK(exit_of(report) == 9);
  CHECK(standing(report) == "n1 applied, n2 skipped, n3 refused");
  CHECK(bench.whole_trees()[1] == before);
}

}  // namespace sparkplan
