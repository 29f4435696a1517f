// The memory that one node with large files costs a plan and an apply, measured in a separate process.
#include <cstdio>
#include <string>
#include <string_view>
#include <vector>

#include "engine/core/json.h"
#include "engine/core/text.h"
#include "engine/fleet/planning/plan_run.h"
#include "engine/load/load.h"
#include "engine/wire/frame.h"
#include "tests/support/catch.h"
#include "tests/support/saved_text.h"
#include "tests/unit/fleet/bench.h"
#include "tests/unit/process/cost.h"

namespace sparkplan {
namespace {

using test::cost_of;
using test::exit_of;
using test::FleetBench;
using test::kManifestFile;

constexpr long kMostFleetMegabytes = 85;  // With the program itself the total stays below 100 MB.
constexpr long kMostApplyMegabytes = 70;

/// A node's data costs more beside others: the C library keeps what a thread of an earlier phase has freed.
constexpr std::size_t kNodes = 8;

FleetBench cluster_with_directories() {
  FleetBench bench(kNodes);
  for (std::size_t i = 1; i <= kNodes; ++i) bench.root(i).make_directory("/etc");
  return bench;
}

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

/// Reads the saved plan and applies it.
test::Cost cost_of_saved_apply(FleetBench& bench) {
  const std::string text = test::saved_text(bench.saved_plan());
  return cost_of([&] {
    const auto plan = decode_saved_plan(text);
    if (!plan) return false;
    bench.options.saved_plan = &*plan;
    return exit_of(bench.apply()) == 0;
  });
}

/// A journal as a node may forge it: before the run, each file had a text of 1 MB.
std::string with_large_befores(const std::string& journal) {
  std::string text;
  for (const std::string_view line : split_lines(journal)) {
    auto entry = decode_json(line);
    REQUIRE(entry);
    if (entry->text_or("event", "") == "intent") {
      Value before = *entry->find("after");
      before.find("value")->set("content", std::string(1'000'000, 'x'));
      entry->set("before", std::move(before));
    }
    text += encode_json(*entry) + "\n";
  }
  return text;
}

/// A node whose last run is undone by steps of 16 MB: a reply at the limit.
void forge_largest_journal(FleetBench& bench) {
  bench.sections = files_to(15);
  bench.apply_all();
  const auto manifest = decode_json(bench.root(1).read(kManifestFile));
  REQUIRE(manifest);
  const std::string journal = "/var/lib/sparkplan/journal/" + manifest->text_or("last_run", "") + ".jsonl";
  bench.root(1).write(journal, with_large_befores(bench.root(1).read(journal)));
  bench.run.command = "rollback";
  bench.options.rollback.emplace();
  bench.options.allow_prune = true;
}

/// A manifest whose values are as many as a reply of facts may have, in resources that no file declares. The values of
/// one resource of a type that this build does not know are bounded, too.
void forge_many_values(FleetBench& bench) {
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.apply_all();
  auto manifest = decode_json(bench.root(1).read(kManifestFile));
  REQUIRE(manifest);
  constexpr std::size_t kOfOne = 9'000;
  constexpr std::size_t kBytesOfOne = kOfOne * (kJsonValueWeight + std::string_view(R"("",)").size());
  for (std::size_t i = 0; (i + 1) * kBytesOfOne < kFactsReply.memory - (std::size_t{256} << 10); ++i) {
    const Value values(Value::List(kOfOne, Value("")));
    manifest->find("resources")
        ->set("later_type/" + std::to_string(i), Value::map({{"last_applied", values}, {"artifacts", Value::list()}}));
  }
  bench.root(1).write(kManifestFile, encode_json(*manifest) + "\n");
  bench.sections = "sysctl: {vm.swappiness: 20}\n";
  bench.options.allow_prune = true;
}

/// Variables with a long name and a secret for many users, in resources that no file declares. Their script cannot be
/// read, so the plan takes their values from the manifest: a line of the script has each name three times.
void forge_long_names(FleetBench& bench) {
  bench.sections = "profile_env: {A: b}\n";
  bench.apply_all();
  auto manifest = decode_json(bench.root(1).read(kManifestFile));
  REQUIRE(manifest);
  Value::Map users;
  for (int i = 0; i < 250; ++i) users.push_back({"u" + std::to_string(i), Value::map({{"value", "x"}, {"uid", i}})});
  const Value applied = Value::map({{"secret", users}});
  for (int i = 100; i < 200; ++i) {
    manifest->find("resources")
        ->set("profile_env/" + std::string(250, 'X') + std::to_string(i),
              Value::map({{"last_applied", applied}, {"artifacts", Value::list()}}));
  }
  bench.root(1).write(kManifestFile, encode_json(*manifest) + "\n");
  bench.root(1).remove(test::kProfileFile);
  bench.root(1).make_directory(test::kProfileFile);
}

/// Resources that no file declares, each with thousands of fields below nested keys that are as long as a key may be.
void forge_nested_keys(FleetBench& bench) {
  bench.sections = "sysctl: {vm.swappiness: 10}\n";
  bench.apply_all();
  auto manifest = decode_json(bench.root(1).read(kManifestFile));
  REQUIRE(manifest);
  Value::Map leaves;
  for (int i = 0; i < 9'000; ++i) leaves.push_back({std::to_string(i), ""});
  Value nested(std::move(leaves));
  for (int level = 0; level < 13; ++level) nested = Value::map({{std::string(4096, 'k'), std::move(nested)}});
  const Value applied = Value::map({{"persistent", "1"}, {"running", "1"}, {"z", nested}});
  for (int i = 0; i < 8; ++i) {
    manifest->find("resources")
        ->set("sysctl/vm.x" + std::to_string(i), Value::map({{"last_applied", applied}, {"artifacts", Value::list()}}));
  }
  bench.root(1).write(kManifestFile, encode_json(*manifest) + "\n");
  bench.options.allow_prune = true;
}

/// Two nodes, each with one interface of the fabric to take over.
void declare_fabric(FleetBench& bench) {
  bench.sections = "fabric: {topology: custom, adopt: take-over}\n";
  for (std::size_t node = 1; node <= 2; ++node) {
    bench.extra[node - 1] =
        ", fabric: {interfaces: [{name: eth1, address: 192.168.100." + std::to_string(node) + "/24}]}";
  }
}

std::string repeated_text(int count, const std::string& piece) {
  std::string text;
  for (int i = 0; i < count; ++i) text += piece;
  return text;
}

std::vector<std::string> changes_of_second(const Report& report) {
  auto all = test::changes(report);
  std::erase_if(all, [](const std::string& change) { return !change.starts_with("n2 "); });
  return all;
}

}  // namespace

TEST_CASE("a rollback of a node with the largest journal costs less than 85 MB") {
  FleetBench bench = cluster_with_directories();
  forge_largest_journal(bench);
  std::size_t steps = 0;
  bench.options.approve = [&](const Report& plan) {
    steps = plan.nodes.at(0).plan.steps.size();
    return true;
  };
  const auto rollback = cost_of([&] {
    const Report report = bench.apply();
    return steps == 16 && exit_of(report) == 0;
  });
  std::printf("largest journal: rollback %ld MB\n", rollback.megabytes);
  CHECK(rollback.exit_status == 0);
  CHECK(rollback.megabytes < kMostFleetMegabytes);
}

TEST_CASE("a node whose manifest has as many small values as a reply can have costs an apply less than 70 MB") {
  FleetBench bench = cluster_with_directories();
  forge_many_values(bench);
  const auto apply = cost_of([&] { return !bench.apply().nodes.at(0).plan.changes.empty(); });
  std::printf("many small values: apply %ld MB\n", apply.megabytes);
  CHECK(apply.exit_status == 0);
  CHECK(apply.megabytes < kMostApplyMegabytes);
}

TEST_CASE("a node with the largest manifest and observation costs a plan and an apply less than 85 MB") {
  FleetBench bench = cluster_with_directories();
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

TEST_CASE("a node with the largest manifest and observation costs the apply of a saved plan less than 85 MB") {
  FleetBench bench(1);
  enlarge(bench);
  const auto apply = cost_of_saved_apply(bench);
  std::printf("largest node: apply PLAN %ld MB\n", apply.megabytes);
  CHECK(apply.exit_status == 0);
  CHECK(apply.megabytes < kMostFleetMegabytes);
}

TEST_CASE("ten thousand changes of a node cost the apply of a saved plan less than 85 MB") {
  FleetBench bench(1);
  bench.sections = "profile_env: {";
  for (int i = 0; i < 9'990; ++i) bench.sections += "A" + std::to_string(i) + ": a, ";
  bench.sections += "}\n";
  bench.apply_all();
  bench.sections = "profile_env: {B: b}\n";
  bench.options.allow_prune = true;
  const auto apply = cost_of_saved_apply(bench);
  std::printf("ten thousand changes: apply PLAN %ld MB\n", apply.megabytes);
  CHECK(apply.exit_status == 0);
  CHECK(apply.megabytes < kMostFleetMegabytes);
}

TEST_CASE("a node whose manifest has long names that a text would repeat costs a plan less than 85 MB") {
  FleetBench bench = cluster_with_directories();
  forge_long_names(bench);
  const auto plan = cost_of([&] { return !bench.plan().nodes.at(0).plan.blocked.empty(); });
  std::printf("long names: plan %ld MB\n", plan.megabytes);
  CHECK(plan.exit_status == 0);
  CHECK(plan.megabytes < kMostFleetMegabytes);
}

TEST_CASE("a node whose manifest has thousands of fields below long keys costs a plan less than 85 MB") {
  FleetBench bench = cluster_with_directories();
  forge_nested_keys(bench);
  const auto plan = cost_of([&] { return !bench.plan().nodes.at(0).error; });
  std::printf("nested keys: plan %ld MB\n", plan.megabytes);
  CHECK(plan.exit_status == 0);
  CHECK(plan.megabytes < kMostFleetMegabytes);
}

TEST_CASE(
    "a node with a netplan file that has no end costs a plan less than 85 MB, and the others are planned as usual") {
  FleetBench bench(2);
  declare_fabric(bench);
  const auto usual = changes_of_second(bench.plan());
  REQUIRE(usual == std::vector<std::string>{"n2 create netplan/eth1 config"});
  const std::string begin = "network:\n  ethernets:\n    eth1:\n";
  const std::string copies =
      begin + "      a: &a " + std::string(200'000, 'x') + "\n      b: [" + repeated_text(10'000, "*a, ") + "]\n";
  const std::string nested = begin + "      a: " + repeated_text(900'000, "[");
  const std::string anchors = begin + repeated_text(60'000, "      a: &a\n");
  for (const std::string& text : {copies, nested, anchors}) {
    bench.root(1).write("/etc/netplan/50-theirs.yaml", text);
    const auto plan = cost_of([&] {
      const Report report = bench.plan();
      const auto& blocked = report.nodes.at(0).plan.blocked;
      return blocked.size() == 1 && blocked.front().id.str() == "netplan/eth1" && !report.nodes.at(1).error &&
             changes_of_second(report) == usual;
    });
    std::printf("endless netplan file: plan %ld MB\n", plan.megabytes);
    CHECK(plan.exit_status == 0);
    CHECK(plan.megabytes < kMostFleetMegabytes);
    CHECK(plan.seconds < 5);
  }
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
