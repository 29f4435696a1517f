// The memory that one node with large files costs a plan and an apply, measured in a separate process.
#include <cstdio>
#include <string>

#include "engine/fleet/planning/plan_run.h"
#include "engine/load/load.h"
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

using test::cost_of;
using test::exit_of;
using test::FleetBench;

constexpr long kMostFleetMegabytes = 85;  // With the program itself the total stays below 100 MB.

std::string files_to(int end) {
  std::string files = "files: [";
  for (int i = 0; i < end; ++i) files += "{path: /etc/large" + std::to_string(i) + ", content: a}, ";
  return files + "{path: /etc/small, content: a}]\n";
}

/// Six originals of 1 MB in the manifest, and two changed files of that size in the observation, which has each twice.
void enlarge(FleetBench& bench) {
  const std::string large(1'000'000, 'x');
  for (int end = 2; end <= 6; end += 2) {
    for (int i = end - 2; i < end; ++i) bench.root(1).write("/etc/large" + std::to_string(i), large);
    bench.sections = files_to(end);
    bench.apply_all();
  }
  for (int i = 0; i < 2; ++i) bench.root(1).write("/etc/large" + std::to_string(i), large + "y");
  bench.sections = files_to(2);
  bench.options.allow_prune = true;
}

}  // namespace

TEST_CASE("a node with the largest manifest and observation costs a plan and an apply less than 85 MB") {
  FleetBench bench(1);
  enlarge(bench);
  const auto plan = cost_of([&] { return exit_of(bench.plan()) == 0; });
  bench.options.approve = [](const Report&) { return true; };
  const auto apply = cost_of([&] { return exit_of(bench.apply()) == 0; });
  std::printf("largest node: plan %ld MB, apply %ld MB\n", plan.megabytes, apply.megabytes);
  CHECK(plan.exit_status == 0);
  CHECK(plan.megabytes < kMostFleetMegabytes);
  CHECK(apply.exit_status == 0);
  CHECK(apply.megabytes < kMostFleetMegabytes);
}

TEST_CASE("a plan that is not carried out moves into its report, and the node's data is freed") {
  FleetBench bench(1);
  bench.sections = "sysctl: {vm.swappiness: 20}\n";
  bench.apply_all();
  bench.sections = "sysctl: {vm.swappiness: 30}\n";
  const auto loaded = load_cluster(bench.file(), "cluster.yaml", builtin_registry());
  REQUIRE(loaded.cluster);
  FleetSession session(*loaded.cluster, builtin_registry(), bench.run, {.plans = true});
  PlanRun planning(session);
  planning.plan();
  const auto copied = planning.report();
  const auto taken = planning.take_report();
  CHECK(test::changes(copied).size() == 1);
  CHECK(test::changes(taken) == test::changes(copied));
  CHECK(test::standing(taken) == test::standing(copied));
  CHECK(planning.nodes().front().plan.changes.empty());
  CHECK(planning.nodes().front().observed.types.empty());
  REQUIRE(session.nodes().front().known.manifest);
  CHECK(session.nodes().front().known.manifest->resources.empty());
}

}  // namespace sparkplan
