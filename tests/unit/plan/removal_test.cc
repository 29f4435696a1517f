#include <chrono>
#include <string>

#include "tests/support/catch.h"
#include "tests/unit/plan/fakes.h"

namespace sparkplan {
namespace {

using testing::applied_bench;
using testing::Bench;
using testing::ids_of;
using testing::kKnobFile;
using testing::knob;
using testing::knob_file;
using testing::link;

TEST_CASE("an unchanged resource removed from the file is removed, and its original is restored") {
  Bench bench = applied_bench();
  bench.desired = {knob("b", 2)};
  const NodePlan plan = bench.plan();
  CHECK(ids_of(plan) == "knob/a");
  CHECK(plan.changes[0].action == Action::kRemove);
  CHECK(plan.changes[0].origin == Origin::kConfig);
  CHECK(plan.changes[0].fields.size() == 2);
  CHECK(plan.changes[0].fields[0].before == Value(1));
  CHECK(plan.changes[0].fields[0].after.is_null());
  CHECK_FALSE(plan.changes[0].where.known());
  CHECK(plan.resulting.count({"knob", "a"}) == 1);
  CHECK(plan.after_steps.at({"knob", "a"}).is_null());
  bench.apply();
  CHECK(bench.machine.running.at("a") == 10);
  CHECK(*bench.machine.file == knob_file({{"b", 2}}));
  CHECK(bench.plan().in_sync());
}

TEST_CASE("a changed resource removed from the file is left unchanged and stays managed") {
  Bench bench = applied_bench();
  bench.machine.running["a"] = 99;
  bench.desired = {knob("b", 2)};
  const NodePlan plan = bench.plan();
  CHECK(plan.changes.empty());
  CHECK(plan.steps.empty());
  REQUIRE(plan.kept_orphans.size() == 1);
  CHECK(plan.kept_orphans[0].str() == "knob/a");
  CHECK(plan.resulting.at({"knob", "a"}) == knob("a", 1).desired);
  CHECK(plan.in_sync());
}

TEST_CASE("a broken-off removal continues: each part has either its written or its original state") {
  Bench bench = applied_bench();
  bench.machine.running["a"] = 10;  // Already restored; the file still has the line.
  bench.desired = {knob("b", 2)};
  CHECK(bench.plan().kept_orphans.size() == 1);  // Another program may have restored it.
  bench.manifest->artifacts.at(kKnobFile).intended_digest = digest(file_present(knob_file({{"b", 2}}), 0644));
  CHECK(bench.plan().kept_orphans.empty());
  bench.apply();
  CHECK(*bench.machine.file == knob_file({{"b", 2}}));
  CHECK(bench.plan().in_sync());
}

TEST_CASE("a resource left between two states by a broken-off run is still removed") {
  Bench bench = applied_bench();
  bench.machine.running["a"] = 99;
  bench.desired = {knob("b", 2)};
  bench.manifest->artifacts.at({"live", "a"}).intended_digest = "of what it was going to be";
  CHECK(bench.plan().kept_orphans.empty());
  bench.apply();
  CHECK(bench.machine.running.at("a") == 10);
}

TEST_CASE("a file written by a broken-off run is managed, and removed with its last resource") {
  Bench bench = applied_bench();
  bench.machine.file = knob_file({{"a", 1}, {"b", 2}, {"c", 3}});
  bench.desired.clear();
  bench.manifest->resources.clear();
  CHECK(bench.plan().steps.empty());  // It is a foreign file.
  bench.manifest->artifacts.at(kKnobFile).intended_digest = digest(file_present(*bench.machine.file, 0644));
  bench.apply();
  CHECK_FALSE(bench.machine.file.has_value());
}

TEST_CASE("a kept orphan keeps its line when its file is rewritten") {
  Bench bench = applied_bench();
  bench.machine.running["a"] = 99;
  bench.desired = {knob("b", 7)};
  bench.apply();
  CHECK(bench.machine.running.at("a") == 99);
  CHECK(*bench.machine.file == knob_file({{"a", 1}, {"b", 7}}));
}

TEST_CASE("a missing resource removed from the file leaves the manifest without a change") {
  Bench bench;
  bench.desired = {link("eth1", 9000)};
  bench.apply();
  bench.desired.clear();
  bench.machine.links.clear();
  const NodePlan plan = bench.plan();
  CHECK(plan.in_sync());
  CHECK(plan.resulting.empty());
}

TEST_CASE("removing a file's last resource removes the file") {
  Bench bench = applied_bench();
  bench.desired.clear();
  bench.apply();
  CHECK_FALSE(bench.machine.file.has_value());
  CHECK(bench.machine.running == std::map<std::string, std::int64_t>{{"a", 10}, {"b", 20}, {"c", 30}});
}

TEST_CASE("a resource of an unknown type is blocked, not removed") {
  Bench bench = applied_bench();
  bench.manifest->resources[{"newtype", "x"}].last_applied = Value::map({{"y", 1}});
  const NodePlan plan = bench.plan();
  REQUIRE(plan.blocked.size() == 1);
  CHECK(plan.blocked[0].error.code == ErrorCode::kUnsupported);
  CHECK(plan.resulting.count({"newtype", "x"}) == 1);
}

TEST_CASE("a manifest with thousands of resources and artifacts costs the plan less than five seconds") {
  constexpr int kMany = 5'000;
  Bench bench = applied_bench();
  *bench.machine.file += "# " + std::string(std::size_t{256} << 10, 'x') + "\n";
  for (int i = 0; i < kMany; ++i) {
    const std::string name = std::to_string(i);
    ManagedResource resource{knob(name, 1).desired, {}};
    // To compute the digest of the file for each resource would take as long as to compare all artifacts for each.
    if (i % 2 == 0) resource.artifacts = {kKnobFile};
    bench.manifest->resources[{"knob", name}] = resource;
    bench.manifest->artifacts[file_artifact("/a" + name)] = {"knob", "", Absent{}, ""};
    bench.machine.running[name] = 2;
  }
  const auto begin = std::chrono::steady_clock::now();
  CHECK(bench.plan().kept_orphans.size() == kMany);
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("five or more removals of over half of the resources require consent") {
  const auto consent = [](int managed, int removed) {
    NodePlan plan;
    plan.managed_before = managed;
    for (int i = 0; i < removed; ++i) {
      Change change;
      change.id = {"knob", std::to_string(i)};
      change.action = Action::kRemove;
      plan.changes.push_back(change);
    }
    return needs_prune_consent(plan);
  };
  CHECK(consent(9, 5));
  CHECK(consent(5, 5));
  CHECK_FALSE(consent(10, 5));
  CHECK_FALSE(consent(4, 4));
  CHECK(consent(100, 51));
  CHECK_FALSE(consent(100, 50));
}

}  // namespace
}  // namespace sparkplan
