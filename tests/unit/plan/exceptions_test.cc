#include <algorithm>

#include "tests/support/catch.h"
#include "tests/unit/plan/fakes.h"

namespace sparkplan {
namespace {

using testing::applied_bench;
using testing::artifacts_of;
using testing::Bench;
using testing::find_change;
using testing::ids_of;
using testing::key;
using testing::knob;
using testing::knob_file;
using testing::link;

// --- not applicable ---

TEST_CASE("a resource that cannot exist on the node is listed and is no change") {
  Bench bench;
  bench.machine.live = false;
  bench.desired = {link("eth1", 9000)};
  const NodePlan plan = bench.plan();
  CHECK(plan.in_sync());
  REQUIRE(plan.not_applicable.size() == 1);
  CHECK(plan.not_applicable[0].field.empty());
  CHECK(plan.not_applicable[0].reason == "an image has no links");
  CHECK(plan.resulting.empty());
}

TEST_CASE("a field that cannot exist is listed, and all other fields are applied") {
  Bench bench;
  bench.machine.live = false;
  bench.desired = {knob("a", 1)};
  const NodePlan plan = bench.apply();
  REQUIRE(plan.not_applicable.size() == 1);
  CHECK(plan.not_applicable[0].field == "running");
  CHECK(plan.changes[0].fields.size() == 1);
  CHECK(artifacts_of(plan) == "file:/etc/knobs.conf");
  CHECK(bench.plan().in_sync());
}

TEST_CASE("a booted image is pending, not drifted, because its running values were never applied") {
  Bench bench;
  bench.machine.live = false;
  bench.desired = {knob("a", 1)};
  bench.apply();
  bench.machine.live = true;
  bench.machine.running["a"] = 10;
  const NodePlan plan = bench.plan();
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].origin == Origin::kConfig);
}

TEST_CASE("a resource that is not applicable blocks no dependent") {
  Bench bench;
  bench.machine.live = false;
  Resource dependent = key("anna");
  dependent.after = {{"link", "eth1"}};
  bench.desired = {dependent, link("eth1", 9000)};
  CHECK(ids_of(bench.plan()) == "key/anna");
}

// --- foreign claims ---

void claim_a(ObservedState& state) {
  state.types["knob"].foreign.push_back(
      {{"knob", "a"}, "persistent", 60, "/etc/99-other.conf:3", "sets it to 60 and overrides ours at boot"});
}

TEST_CASE("a foreign setting is listed as foreign and needs no step") {
  Bench bench = applied_bench();
  bench.distort = claim_a;
  const NodePlan plan = bench.plan();
  REQUIRE(plan.changes.size() == 1);
  const Change& change = plan.changes[0];
  CHECK(change.origin == Origin::kForeign);
  CHECK(change.action == Action::kUpdate);
  CHECK(change.fields[0].path == "persistent");
  CHECK(change.fields[0].before == Value(60));
  CHECK(change.fields[0].after == Value(1));
  CHECK(change.note == "/etc/99-other.conf:3 sets it to 60 and overrides ours at boot");
  CHECK(plan.steps.empty());
}

TEST_CASE("a resource with a change and a foreign claim lists both, the foreign one last") {
  Bench bench = applied_bench();
  bench.desired = {knob("a", 5), knob("b", 2)};
  bench.distort = claim_a;
  const NodePlan plan = bench.plan();
  REQUIRE(ids_of(plan) == "knob/a knob/a");
  CHECK(plan.changes[0].origin == Origin::kConfig);
  CHECK(plan.changes[1].origin == Origin::kForeign);
  CHECK(plan.changes[1].fields[0].after == Value(5));
}

TEST_CASE("a harmless foreign setting is listed, and the node is in sync") {
  Bench bench = applied_bench();
  bench.distort = [](ObservedState& state) {
    state.types["knob"].foreign.push_back({{"knob", "a"}, "", {}, "/etc/other.conf", "says it twice", true});
  };
  const NodePlan plan = bench.plan();
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].origin == Origin::kForeign);
  CHECK(plan.changes[0].fields.empty());
  CHECK(plan.changes[0].note == "/etc/other.conf says it twice");
  CHECK(plan.changes[0].is_harmless());
  CHECK(plan.in_sync());
  bench.distort = claim_a;
  CHECK_FALSE(bench.plan().in_sync());
}

TEST_CASE("of the foreign claims on a long value, the first one is listed") {
  Bench bench = applied_bench();
  bench.desired[0].desired.set("text", std::string(100'000, 't'));
  bench.distort = [](ObservedState& state) {
    for (int i = 0; i < 20; ++i) {
      const std::string source = "/etc/" + std::to_string(i);
      state.types["knob"].foreign.push_back({{"knob", "a"}, "text", i, source, "sets another text"});
      state.types["knob"].foreign.push_back({{"knob", "a"}, "persistent", i + 10, source, "sets another number"});
    }
  };
  const NodePlan plan = bench.plan();
  const auto claims = [&](const std::string& field) {
    return std::count_if(plan.changes.begin(), plan.changes.end(), [&](const Change& change) {
      return change.origin == Origin::kForeign && change.fields.at(0).path == field;
    });
  };
  CHECK(claims("text") == 1);
  CHECK(claims("persistent") == 20);
}

TEST_CASE("a foreign claim on an undeclared or excluded resource is not listed") {
  Bench bench = applied_bench();
  bench.distort = claim_a;
  bench.selected = [](const ResourceId& id) { return id.name != "a"; };
  CHECK(bench.plan().changes.empty());
  bench.selected = nullptr;
  bench.distort = [](ObservedState& state) {
    state.types["knob"].foreign.push_back({{"knob", "a"}, "other", 60, "/etc/99-other.conf:4", "sets that to 60"});
  };
  CHECK(bench.plan().changes.empty());
  bench.distort = claim_a;
  bench.desired.clear();
  CHECK(find_change(bench.plan(), "knob/a", Origin::kForeign) == nullptr);
}

// --- selection ---

TEST_CASE("an excluded resource is neither listed nor changed, and keeps its manifest entry") {
  Bench bench = applied_bench();
  bench.desired = {knob("a", 5), knob("b", 6)};
  bench.selected = [](const ResourceId& id) { return id.name == "b"; };
  const NodePlan plan = bench.apply();
  CHECK(ids_of(plan) == "knob/b");
  CHECK(bench.machine.running.at("a") == 1);
  CHECK(*bench.machine.file == knob_file({{"a", 1}, {"b", 6}}));
  CHECK(bench.manifest->resources.at({"knob", "a"}).last_applied == knob("a", 1).desired);
}

TEST_CASE("an excluded removal is not made") {
  Bench bench = applied_bench();
  bench.desired = {knob("b", 6)};
  bench.selected = [](const ResourceId& id) { return id.name == "b"; };
  bench.apply();
  CHECK(*bench.machine.file == knob_file({{"a", 1}, {"b", 6}}));
  CHECK(bench.manifest->resources.count({"knob", "a"}) == 1);
}

TEST_CASE("an excluded new resource is not written into a shared file") {
  Bench bench = applied_bench();
  bench.desired = {knob("a", 1), knob("b", 6), knob("c", 3)};
  bench.selected = [](const ResourceId& id) { return id.name == "b"; };
  bench.apply();
  CHECK(*bench.machine.file == knob_file({{"a", 1}, {"b", 6}}));
  CHECK(bench.manifest->resources.count({"knob", "c"}) == 0);
}

TEST_CASE("a resource that needs an excluded change is blocked") {
  Bench bench;
  Resource dependent = link("eth1", 9000);
  dependent.after = {{"key", "anna"}};
  bench.desired = {key("anna"), dependent};
  bench.selected = [](const ResourceId& id) { return id.type == "link"; };
  const NodePlan plan = bench.plan();
  REQUIRE(plan.blocked.size() == 1);
  CHECK(plan.blocked[0].id.str() == "link/eth1");
  CHECK(plan.blocked[0].error.hint == "add it to --only");
}

}  // namespace
}  // namespace sparkplan
