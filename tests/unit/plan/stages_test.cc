#include "tests/support/catch.h"
#include "tests/unit/plan/fakes.h"

namespace sparkplan {
namespace {

using testing::artifacts_of;
using testing::Bench;
using testing::find_change;
using testing::ids_of;
using testing::key;
using testing::link;
using testing::trust;

Value unknown_key() { return Value::Unknown{"known after spark-01 creates its key", "spark-01/key/nvidia"}; }

TEST_CASE("a resource with an Unknown is listed as waiting, and nothing is done") {
  Bench bench;
  bench.desired = {trust("nvidia", Value::list({unknown_key()}))};
  const NodePlan plan = bench.plan();
  REQUIRE(ids_of(plan) == "trust/nvidia");
  CHECK(plan.changes[0].fields[0].after.contains_unknown());
  CHECK(plan.waiting == std::vector<ResourceId>{{"trust", "nvidia"}});
  CHECK(plan.steps.empty());
  CHECK(plan.resulting.empty());
  CHECK_FALSE(plan.in_sync());
}

TEST_CASE("a waiting resource keeps its current state, also in the manifest") {
  Bench bench;
  bench.desired = {trust("nvidia", Value::list({"old"}))};
  bench.apply();
  bench.desired = {trust("nvidia", Value::list({"old", unknown_key()}))};
  const NodePlan plan = bench.apply();
  CHECK(plan.steps.empty());
  CHECK(bench.machine.keys.at("trust/nvidia") == "old");
  CHECK(bench.manifest->resources.at({"trust", "nvidia"}).last_applied == Value::map({{"keys", Value::list({"old"})}}));
}

TEST_CASE("a resource that needs a waiting one waits too, and names it") {
  Bench bench;
  Resource dependent = link("eth1", 9000);
  dependent.after = {{"trust", "nvidia"}};
  bench.desired = {trust("nvidia", Value::list({unknown_key()})), dependent};
  const NodePlan plan = bench.plan();
  CHECK(plan.waiting.size() == 2);
  CHECK(plan.blocked.empty());
  CHECK(plan.steps.empty());
  CHECK(find_change(plan, "link/eth1")->note == "waits for trust/nvidia");
}

TEST_CASE("two stages: the key is created on A, then B's trust in the key can be planned") {
  Bench a;
  a.desired = {key("nvidia")};
  Bench b;
  const auto ask_for_trust = [&] {
    const bool made = a.machine.keys.contains("key/nvidia");
    b.desired = {trust("nvidia", Value::list({made ? Value("AAAA") : unknown_key()}))};
  };

  ask_for_trust();
  CHECK(artifacts_of(a.apply()) == "key:nvidia");
  CHECK(b.apply().waiting.size() == 1);

  ask_for_trust();
  CHECK(a.plan().in_sync());
  const NodePlan second = b.apply();
  CHECK(second.waiting.empty());
  CHECK(artifacts_of(second) == "trust:nvidia");
  CHECK(b.machine.keys.at("trust/nvidia") == "AAAA");
  CHECK(b.plan().in_sync());
}

TEST_CASE("the known part is applied first if the resource allows it, and the rest waits") {
  Bench bench;
  Resource resource = trust("nvidia", Value::list({"AAAA"}));
  resource.desired.set("later", unknown_key());
  resource.known_part_first = true;
  bench.desired = {resource};
  const NodePlan plan = bench.plan();
  CHECK(artifacts_of(plan) == "trust:nvidia");
  CHECK(plan.waiting == std::vector<ResourceId>{resource.id});
  REQUIRE(plan.changes.size() == 1);
  CHECK(plan.changes[0].fields.size() == 2);
  CHECK(std::get<Present>(plan.steps[0].after).value == trust("nvidia", Value::list({"AAAA"})).desired);
  CHECK_FALSE(plan.after_steps.at(resource.id).contains_unknown());
  bench.desired[0].known_part_first = false;
  CHECK(bench.plan().steps.empty());
}

/// Accepts any present state for an Unknown one, and never has a step to write.
class StepLessType : public ResourceType {
 public:
  StepLessType() : ResourceType({"settling", "settling", Phase::kFiles, "", "", {}}) {}
  Desired desired(const ClusterView&, const Value&, const Facts&) const override { return {}; }
  ObservedType observe(const ObserveRequest&, const NodeReader&) const override { return {}; }
  std::vector<FieldChange> diff(const Resource& resource, const Present& present) const override {
    Resource known = resource;
    if (known.desired.contains_unknown()) known.desired = Value::map();
    return ResourceType::diff(known, present);
  }
  std::vector<Step> steps(const StepsInput& input) const override {
    for (const Resource& resource : input.target) REQUIRE_FALSE(resource.desired.contains_unknown());
    return {};
  }
};

Registry step_less_registry() {
  std::vector<std::unique_ptr<const ResourceType>> types;
  types.push_back(std::make_unique<StepLessType>());
  return Registry(std::move(types));
}

TEST_CASE("an Unknown resolved by the observed value is in sync, and the manifest records the value") {
  const Registry registry = step_less_registry();
  Resource resource;
  resource.id = {"settling", "x"};
  resource.desired = Value::map({{"key", unknown_key()}, {"other", unknown_key()}, {"mode", "0600"}});
  ObservedState observed;
  observed.types["settling"].resources["x"] = Present{Value::map({{"key", "AAAA"}, {"mode", "0600"}}), {}};
  const NodePlan plan = plan_node({{resource}, &observed, nullptr, {}, {}}, registry);
  CHECK(plan.in_sync());
  CHECK(plan.resulting.at(resource.id) == Value::map({{"key", "AAAA"}, {"mode", "0600"}}));
}

TEST_CASE("a change without a step of its type is reported as a bug, and not repeated for ever") {
  Resource resource;
  resource.id = {"settling", "x"};
  resource.desired = Value::map({{"mode", "0600"}});
  ObservedState observed;
  observed.types["settling"].resources["x"] = Present{Value::map({{"mode", "0644"}}), {}};
  const NodePlan plan = plan_node({{resource}, &observed, nullptr, {}, {}}, step_less_registry());
  CHECK(plan.changes.empty());
  REQUIRE(plan.blocked.size() == 1);
  CHECK(plan.blocked[0].error.code == ErrorCode::kFailed);
}

TEST_CASE("a removal without anything to write is complete") {
  Manifest manifest;
  manifest.resources[{"settling", "x"}].last_applied = Value::map({{"mode", "0600"}});
  ObservedState observed;
  observed.types["settling"].resources["x"] = Present{Value::map({{"mode", "0600"}}), {}};
  const NodePlan plan = plan_node({{}, &observed, &manifest, {}, {}}, step_less_registry());
  CHECK(plan.in_sync());
  CHECK(plan.resulting.empty());
}

}  // namespace
}  // namespace sparkplan
