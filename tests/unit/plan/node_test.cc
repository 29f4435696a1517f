#include <chrono>

#include "tests/support/catch.h"
#include "tests/unit/plan/fakes.h"

namespace sparkplan {
namespace {

using testing::applied_bench;
using testing::artifacts_of;
using testing::Bench;
using testing::find_change;
using testing::find_field;
using testing::ids_of;
using testing::key;
using testing::kKnobFile;
using testing::knob;
using testing::knob_file;
using testing::link;
using testing::trust;

TEST_CASE("a node that matches the file needs no change") {
  const Bench bench = applied_bench();
  const NodePlan plan = bench.plan();
  CHECK(plan.in_sync());
  CHECK(plan.steps.empty());
  CHECK(plan.resulting.size() == 2);
  CHECK(plan.managed_before == 2);
}

TEST_CASE("an empty file gives an empty plan for a node that was never applied") {
  const Bench bench;
  const NodePlan plan = bench.plan();
  CHECK(plan.in_sync());
  CHECK(plan.resulting.empty());
}

TEST_CASE("an absent resource is created, with null before in every field") {
  Bench bench;
  bench.desired = {link("eth1", 9000)};
  const NodePlan plan = bench.plan();
  const Change* change = find_change(plan, "link/eth1");
  REQUIRE(change != nullptr);
  CHECK(change->action == Action::kCreate);
  CHECK(change->origin == Origin::kConfig);
  REQUIRE(change->fields.size() == 1);
  CHECK(change->fields[0].before.is_null());
  CHECK(change->fields[0].after == Value(9000));
}

TEST_CASE("an existing unmanaged resource is created, because it becomes managed") {
  Bench bench;
  bench.machine.running = {{"a", 10}};
  bench.desired = {knob("a", 1)};
  const NodePlan plan = bench.plan();
  const Change* change = find_change(plan, "knob/a");
  REQUIRE(change != nullptr);
  CHECK(change->action == Action::kCreate);
  CHECK(change->origin == Origin::kConfig);
  CHECK(find_field(*change, "running")->before == Value(10));
  CHECK(find_field(*change, "persistent")->before.is_null());
}

TEST_CASE("an already correct resource is adopted without a change") {
  Bench bench;
  bench.machine.running = {{"a", 1}};
  bench.machine.file = knob_file({{"a", 1}});
  bench.desired = {knob("a", 1)};
  const NodePlan plan = bench.plan();
  CHECK(plan.in_sync());
  CHECK(plan.resulting.at({"knob", "a"}) == knob("a", 1).desired);
}

TEST_CASE("a changed value in the file is an update with origin config") {
  Bench bench = applied_bench();
  bench.desired = {knob("a", 5), knob("b", 2)};
  const NodePlan plan = bench.plan();
  CHECK(ids_of(plan) == "knob/a");
  CHECK(plan.changes[0].action == Action::kUpdate);
  CHECK(plan.changes[0].origin == Origin::kConfig);
  CHECK(plan.resulting.at({"knob", "a"}) == knob("a", 1).desired);
  CHECK(plan.resulting.at({"knob", "b"}) == knob("b", 2).desired);
  REQUIRE(plan.after_steps.size() == 1);
  CHECK(plan.after_steps.at({"knob", "a"}) == knob("a", 5).desired);
}

TEST_CASE("a change contains position, impact and reversibility of its resource") {
  Bench bench;
  bench.desired = {link("eth1", 9000)};
  const NodePlan plan = bench.plan();
  CHECK(plan.changes[0].impact == Impact::kInterruptsNetwork);
  CHECK(plan.changes[0].reversible == Reversible::kBestEffort);
  CHECK(plan.changes[0].where.line == 7);
}

TEST_CASE("a value changed on the node is drift") {
  Bench bench = applied_bench();
  bench.machine.running["a"] = 99;
  const NodePlan plan = bench.plan();
  CHECK(ids_of(plan) == "knob/a");
  CHECK(plan.changes[0].origin == Origin::kDrift);
  REQUIRE(plan.changes[0].fields.size() == 1);
  CHECK(plan.changes[0].fields[0].path == "running");
  CHECK(plan.changes[0].fields[0].before == Value(99));
}

TEST_CASE("drift stays drift if the file has changed too") {
  Bench bench = applied_bench();
  bench.machine.running["a"] = 99;
  bench.desired = {knob("a", 5), knob("b", 2)};
  CHECK(find_change(bench.plan(), "knob/a")->origin == Origin::kDrift);
}

TEST_CASE("drift to exactly the new value of the file is no change") {
  Bench bench = applied_bench();
  bench.machine.running["a"] = 5;
  bench.machine.file = knob_file({{"a", 5}, {"b", 2}});
  bench.desired = {knob("a", 5), knob("b", 2)};
  const NodePlan plan = bench.plan();
  CHECK(plan.changes.empty());
  CHECK(plan.resulting.at({"knob", "a"}) == knob("a", 5).desired);
}

TEST_CASE("a deleted managed resource is created again, as drift") {
  Bench bench;
  bench.desired = {link("eth1", 9000)};
  bench.apply();
  bench.machine.links.clear();
  const NodePlan plan = bench.plan();
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].action == Action::kCreate);
  CHECK(plan.changes[0].origin == Origin::kDrift);
}

TEST_CASE("a field that was never applied cannot drift") {
  Bench bench = applied_bench();
  bench.manifest->resources.at({"knob", "a"}).last_applied = Value::map({{"persistent", 1}});
  bench.machine.running["a"] = 99;
  CHECK(find_change(bench.plan(), "knob/a")->origin == Origin::kConfig);
}

TEST_CASE("drift is found in nested fields and in keys that contain dots") {
  Bench bench;
  Resource resource = link("eth1", 9000);
  resource.desired.set("vlan.100", Value::map({{"id", 7}}));
  bench.desired = {resource};
  bench.manifest.emplace();
  bench.manifest->resources[resource.id].last_applied = resource.desired;
  Value seen = resource.desired;
  seen.set("vlan.100", Value::map({{"id", 8}}));
  bench.distort = [&](ObservedState& state) { state.types["link"].resources["eth1"] = Present{seen, {}}; };
  const NodePlan plan = bench.plan();
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].fields[0].path == "vlan.100.id");
  CHECK(plan.changes[0].origin == Origin::kDrift);

  bench.desired[0].desired.set("vlan.100", Value::map({{"id", 9}}));
  bench.manifest->resources[resource.id].last_applied = seen;
  CHECK(bench.plan().changes[0].origin == Origin::kConfig);
}

TEST_CASE("hundreds of observed fields with thousands of dots each cost a plan less than five seconds") {
  constexpr int kFields = 500;
  constexpr int kApplied = 10'000;
  Bench bench;
  Resource resource = link("eth1", 9000);
  bench.manifest.emplace();
  Value applied = resource.desired;
  for (int i = 0; i < kApplied; ++i) applied.set("known." + std::to_string(i), Value::list());
  bench.manifest->resources[resource.id].last_applied = applied;
  Value seen = resource.desired;
  for (int i = 0; i < kFields; ++i) {
    const std::string key = "f" + std::to_string(i) + std::string(4000, '.');
    resource.desired.set(key, 1);
    seen.set(key, 2);
  }
  bench.desired = {resource};
  bench.distort = [&](ObservedState& state) { state.types["link"].resources["eth1"] = Present{seen, {}}; };
  const auto begin = std::chrono::steady_clock::now();
  const NodePlan plan = bench.plan();
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].fields.size() == kFields);
  CHECK(plan.changes[0].origin == Origin::kConfig);
}

TEST_CASE("0, false and empty text are values, not absence") {
  Bench bench;
  bench.machine.running = {{"a", 5}};
  bench.desired = {knob("a", 0)};
  bench.apply();
  CHECK(bench.plan().in_sync());
  bench.machine.running["a"] = 1;
  CHECK(find_change(bench.plan(), "knob/a")->fields[0].after == Value(0));
}

TEST_CASE("changes are sorted by phase and id, and steps by phase") {
  Bench bench;
  bench.machine.running = {{"a", 1}, {"b", 1}};
  bench.desired = {link("eth1", 9000), knob("b", 2), key("nvidia"), knob("a", 2)};
  const NodePlan plan = bench.plan();
  CHECK(ids_of(plan) == "key/nvidia knob/a knob/b link/eth1");
  CHECK(artifacts_of(plan) == "key:nvidia live:a live:b file:/etc/knobs.conf link:eth1");
}

TEST_CASE("a resource that needs another one of its phase is applied after it") {
  Bench bench;
  Resource first = trust("anna", Value::list({"k"}));
  Resource second = key("zoe");
  second.after = {first.id};
  bench.desired = {second, first};
  const NodePlan plan = bench.plan();
  CHECK(artifacts_of(plan) == "trust:anna key:zoe");
  second.after.clear();
  bench.desired = {second, first};
  CHECK(artifacts_of(bench.plan()) == "key:zoe trust:anna");
}

TEST_CASE("a step lists the resources it needs, so that it is skipped when one of them fails") {
  Bench bench;
  Resource early = key("anna");
  early.after = {{"link", "eth1"}};
  bench.desired = {early, link("eth1", 9000)};
  const NodePlan plan = bench.plan();
  REQUIRE(plan.steps.size() == 2);
  CHECK(plan.steps[0].needs.empty());
  CHECK(plan.steps[1].needs == std::vector<ResourceId>{{"link", "eth1"}});
}

TEST_CASE("dependencies take precedence over phases") {
  Bench bench;
  Resource early = key("anna");
  early.after = {{"link", "eth1"}};
  bench.desired = {early, link("eth1", 9000)};
  CHECK(artifacts_of(bench.plan()) == "link:eth1 key:anna");
}

TEST_CASE("every desired and every managed name is observed once") {
  Bench bench = applied_bench();
  const auto names = names_to_observe({knob("c", 1), knob("a", 1), link("eth1", 1)}, bench.known());
  CHECK(names.at("knob") == std::vector<std::string>{"a", "b", "c"});
  CHECK(names.at("link") == std::vector<std::string>{"eth1"});
  CHECK(names_to_observe({}, nullptr).empty());
}

TEST_CASE("a type with only an artifact in the manifest is still observed") {
  Manifest manifest;
  manifest.artifacts[kKnobFile] = {"knob", "", Absent{}};
  CHECK(names_to_observe({}, &manifest).at("knob").empty());
}

}  // namespace
}  // namespace sparkplan
