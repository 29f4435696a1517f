// Removed resources are undone, and the state from before sparkplan is restored.
#include "tests/support/catch.h"
#include "tests/unit/fleet/bench.h"

namespace sparkplan {
namespace {

using test::changes;
using test::exit_of;
using test::FleetBench;
using test::kProfileFile;
using test::kSysctlFile;
using test::standing;

constexpr auto kSixKeys =
    "sysctl: {vm.swappiness: 10, vm.max_map_count: 1048576, net.core.rmem_max: 1MiB, net.core.wmem_max: 1MiB, "
    "net.core.somaxconn: 4096, kernel.pid_max: 4194304}\n";

}  // namespace

TEST_CASE("a key removed from the file is removed from the node") {
  FleetBench bench(2);
  bench.sections = "sysctl: {vm.swappiness: 10, vm.max_map_count: 1048576}\n";
  bench.apply_all();
  bench.sections = "sysctl: {vm.max_map_count: 1048576}\n";
  CHECK(changes(bench.plan()) ==
        std::vector<std::string>{"n1 remove sysctl/vm.swappiness config", "n2 remove sysctl/vm.swappiness config"});
  bench.apply_all();
  const auto text = bench.root(1).read(kSysctlFile);
  CHECK(text.find("swappiness") == std::string::npos);
  CHECK(text.find("max_map_count") != std::string::npos);
}

TEST_CASE("removing a section restores the node byte for byte") {
  FleetBench bench(2);
  bench.root(1).write(kProfileFile, "# written by hand\nexport OLD=1");
  std::filesystem::permissions(bench.root(1) / kProfileFile, std::filesystem::perms(0600));
  const auto before = bench.trees();
  bench.sections = "profile_env: {A: b, C: d}\nsysctl: {vm.swappiness: 10}\n";
  bench.apply_all();
  CHECK(bench.trees() != before);
  // Also after a change of the values.
  bench.sections = "profile_env: {A: x}\nsysctl: {vm.swappiness: 20}\n";
  bench.apply_all();
  bench.sections = "";
  bench.apply_all();
  CHECK(bench.trees() == before);
}

TEST_CASE("a changed value is left unchanged when it is removed from the file") {
  FleetBench bench(1);
  bench.sections = "sysctl: {vm.swappiness: 10, vm.max_map_count: 1048576}\n";
  bench.apply_all();
  auto text = bench.root(1).read(kSysctlFile);
  text.replace(text.find("= 10\n"), 5, "= 42\n");
  bench.root(1).write(kSysctlFile, text);
  bench.sections = "sysctl: {vm.max_map_count: 1048576}\n";
  const auto plan = bench.plan();
  REQUIRE(plan.nodes[0].plan.kept_orphans.size() == 1);
  CHECK(plan.nodes[0].plan.kept_orphans[0].str() == "sysctl/vm.swappiness");
  bench.apply();
  CHECK(bench.root(1).read(kSysctlFile).find("vm.swappiness = 42") != std::string::npos);
}

TEST_CASE("removing most of a node requires consent: exit 9, nothing is written there, all others continue") {
  FleetBench bench(2);
  bench.sections = kSixKeys;
  bench.apply_all();
  const auto before = bench.whole_trees();
  // The first node's manifest is only its own claim. The second node would only receive a new value.
  bench.sections = "profile_env: {A: b}\n";
  bench.extra[1] = std::string(", ") + std::string(kSixKeys).substr(0, std::string(kSixKeys).size() - 1);
  int asked = 0;
  bench.options.approve = [&](const Report&) { return ++asked > 0; };
  const auto report = bench.apply();
  CHECK(exit_of(report) == 9);
  CHECK(report.nodes[0].error->hint.find("--yes-prune") != std::string::npos);
  CHECK(asked == 1);
  CHECK(standing(report) == "n1 refused, n2 applied");
  CHECK(bench.whole_trees()[0] == before[0]);
  CHECK(bench.root(2).read(kProfileFile).find("A=") != std::string::npos);
  bench.options.allow_prune = true;
  CHECK(exit_of(bench.apply()) == 0);
  CHECK_FALSE(bench.root(1).exists(kSysctlFile));
  CHECK(bench.root(2).exists(kSysctlFile));
}

TEST_CASE("a few removals require no consent") {
  FleetBench bench(1);
  bench.sections = kSixKeys;
  bench.apply_all();
  bench.sections = "sysctl: {vm.swappiness: 10, vm.max_map_count: 1048576}\n";
  bench.apply_all();
}

TEST_CASE("a removal that --only leaves out stays pending") {
  FleetBench bench(1);
  bench.sections = "sysctl: {vm.swappiness: 10}\nprofile_env: {A: b}\n";
  bench.apply_all();
  bench.sections = "";
  bench.run.selection = Selection({"n1/sysctl"}, {});
  CHECK(exit_of(bench.apply()) == 0);
  CHECK_FALSE(bench.root(1).exists(kSysctlFile));
  CHECK(bench.root(1).exists(kProfileFile));
  bench.run.selection = {};
  CHECK(changes(bench.plan()) == std::vector<std::string>{"n1 remove profile_env/A config"});
  bench.apply_all();
  CHECK(bench.trees().at(0).empty());
}

}  // namespace sparkplan
