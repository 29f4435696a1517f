// The contract of engine/resource/resource_type.h, checked on every case of every registered type.
#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/core/json.h"
#include "engine/resource/artifact.h"
#include "engine/resource/registry.h"
#include "tests/support/case_folder.h"
#include "tests/support/catch.h"
#include "tests/support/step_runner.h"

namespace sparkplan::test {
namespace {

struct OpenCase {
  CaseFolder folder;
  World world;
};

/// Every case of every type; an unreadable case fails the calling test.
std::vector<OpenCase> open_all_cases() {
  std::vector<OpenCase> cases;
  for (const CaseFolder& folder : all_cases(builtin_registry())) {
    Result<World> world = open_case(folder, builtin_registry());
    INFO(folder.title());
    if (!world) FAIL(world.error().describe());
    cases.push_back({folder, *std::move(world)});
  }
  return cases;
}

/// Changes that an apply is expected to make, without changes that wait for another node.
std::vector<std::string> pending(const NodePlan& plan) {
  std::vector<std::string> ids;
  for (const Change& change : plan.changes) {
    const bool waits = std::find(plan.waiting.begin(), plan.waiting.end(), change.id) != plan.waiting.end();
    if (change.origin != Origin::kForeign && !waits) ids.push_back(change.id.str());
  }
  return ids;
}

std::vector<std::string> blocked(const NodePlan& plan) {
  std::vector<std::string> ids;
  for (const BlockedResource& one : plan.blocked) ids.push_back(one.id.str());
  return ids;
}

/// Runs the steps of a case whose kernel accepts every write. In a case of a refusal the run ends in an Error, and
/// every artifact is unchanged. Waiting changes are carried out afterwards, as in a run of several stages. `done` holds
/// the first stage only.
StepRun apply(World& world, const Look& look) {
  StepRun run = run_steps(look.plan, builtin_registry(), world.node);
  if (run.error) return run;
  remember(look.plan, run.done, world.manifest);
  world.applied = true;
  if (look.plan.waiting.empty() || look.plan.steps.empty()) return run;
  run.error = apply(world, look_at(world, builtin_registry())).error;
  return run;
}

Observation state_of(const Step& step, const World& world) {
  return read_artifact(step.artifact, *builtin_registry().find(step.type), world.node);
}

const Error kPowerCut{ErrorCode::kFailed, "injected", {}, 5, {}};
const Error kNoAccess{ErrorCode::kPermissionDenied, "injected", {}, 13, {}};

bool same_observation(const Observation& a, const Observation& b) {
  if (std::holds_alternative<Error>(a) && std::holds_alternative<Error>(b)) return true;
  return same_state(a, b);
}

}  // namespace

TEST_CASE("every registered type has at least one case", "[contract]") {
  std::set<std::string> with_cases;
  for (const CaseFolder& folder : all_cases(builtin_registry())) with_cases.insert(folder.type);
  for (const auto& type : builtin_registry().types()) {
    INFO(type->info().name);
    CHECK(with_cases.contains(type->info().name));
  }
}

TEST_CASE("every registered type describes itself and its schema", "[contract]") {
  for (const auto& type : builtin_registry().types()) {
    const TypeInfo& info = type->info();
    INFO(info.name);
    CHECK_FALSE(info.name.empty());
    CHECK_FALSE(info.section.empty());
    CHECK_FALSE(info.summary.empty());
    CHECK_FALSE(info.files.empty());
    if (info.schema_json.empty()) {
      // It shares its section with a type that has a schema.
      const auto others = builtin_registry().of_section(info.section);
      CHECK(
          std::any_of(others.begin(), others.end(), [](const auto* one) { return !one->info().schema_json.empty(); }));
      continue;
    }
    const Result<Value> schema = parse_plain_json(info.schema_json);
    REQUIRE(schema);
    CHECK_FALSE(schema->text_or("description", "").empty());
    if (const Value* properties = schema->find("properties")) {
      for (const MapEntry& property : *properties->entries()) {
        INFO(property.key);
        CHECK_FALSE(property.value.text_or("description", "").empty());
      }
    }
  }
}

TEST_CASE("every type has a case that declares a resource and applies it", "[contract]") {
  std::set<std::string> asked;
  std::set<std::string> given;
  for (const OpenCase& one : open_all_cases()) {
    const Look look = look_at(one.world, builtin_registry());
    for (const Resource& resource : look.desired) asked.insert(resource.id.type);
    for (const Step& step : look.plan.steps) {
      if (std::holds_alternative<Present>(step.after)) given.insert(step.type);
    }
  }
  for (const auto& type : builtin_registry().types()) {
    INFO(type->info().name);
    CHECK(asked.contains(type->info().name));
    CHECK(given.contains(type->info().name));
  }
}

TEST_CASE("converges: after the steps a second plan is empty", "[contract]") {
  for (OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    const Look before = look_at(one.world, builtin_registry());
    if (apply(one.world, before).error) continue;  // Covered by "refused steps leave nothing behind".
    const Look after = look_at(one.world, builtin_registry());
    CHECK(pending(after.plan) == std::vector<std::string>{});
    CHECK(after.plan.steps.empty());
    CHECK(blocked(after.plan) == blocked(before.plan));
  }
}

TEST_CASE("converges also in a first apply without a manifest", "[contract]") {
  for (OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    one.world.applied = false;
    one.world.manifest = Manifest{};
    if (apply(one.world, look_at(one.world, builtin_registry())).error) continue;
    const Look after = look_at(one.world, builtin_registry());
    CHECK(pending(after.plan) == std::vector<std::string>{});
    CHECK(after.plan.steps.empty());
  }
}

TEST_CASE("refused steps leave nothing behind", "[contract]") {
  for (OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    const Look look = look_at(one.world, builtin_registry());
    const FakeNode::Snapshot before = one.world.node.snapshot();
    const StepRun run = apply(one.world, look);
    if (!run.error) continue;
    std::set<std::string> groups;
    for (const Step& step : look.plan.steps) groups.insert(step.group);
    if (groups.size() == 1) CHECK(one.world.node.snapshot() == before);
  }
}

TEST_CASE("idempotent: an observed resource does not differ from itself", "[contract]") {
  for (const OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    for (const auto& [type, observed] : look_at(one.world, builtin_registry()).observed.types) {
      for (const auto& [name, observation] : observed.resources) {
        const auto* present = std::get_if<Present>(&observation);
        if (present == nullptr) continue;
        INFO(name);
        const Resource resource{{type, name}, present->value, {}, {}, Impact::kLive, Reversible::kExact};
        CHECK(builtin_registry().find(type)->diff(resource, *present).empty());
      }
    }
  }
}

TEST_CASE("idempotent: 0, \"\" and false are values that equal only themselves", "[contract]") {
  const std::vector<Value> odd_values{Value(0), Value(""), Value(false)};
  for (const OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    for (const Resource& resource : look_at(one.world, builtin_registry()).desired) {
      const ResourceType& type = *builtin_registry().find(resource.id.type);
      if (resource.desired.entries() == nullptr) continue;
      for (const MapEntry& field : *resource.desired.entries()) {
        for (const Value& odd : odd_values) {
          INFO(resource.id.str() << " " << field.key << " " << encode_json(odd));
          Resource changed = resource;
          changed.desired.set(field.key, odd);
          CHECK(type.diff(changed, Present{changed.desired, {}}).empty());
          Present without{changed.desired, {}};
          without.value.erase(field.key);
          CHECK_FALSE(type.diff(changed, without).empty());
          if (!(field.value == odd)) CHECK_FALSE(type.diff(changed, Present{resource.desired, {}}).empty());
        }
      }
    }
  }
}

TEST_CASE("reversible: the inverse steps restore every byte", "[contract]") {
  for (OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    const FakeNode::Snapshot before = one.world.node.snapshot();
    const Look look = look_at(one.world, builtin_registry());
    const bool promised = std::all_of(look.plan.changes.begin(), look.plan.changes.end(),
                                      [](const Change& change) { return change.reversible == Reversible::kExact; });
    const StepRun run = apply(one.world, look);
    if (!promised || run.error) continue;
    REQUIRE(undo_steps(run.done, builtin_registry(), one.world.node));
    CHECK(one.world.node.snapshot() == before);
  }
}

TEST_CASE("reversible: the inverse steps may be executed twice, as after a crash", "[contract]") {
  for (OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    const Look look = look_at(one.world, builtin_registry());
    const StepRun run = apply(one.world, look);
    if (run.error) continue;
    for (const Step& step : run.done) {
      REQUIRE(apply_artifact(step.artifact, step.after, *builtin_registry().find(step.type), one.world.node));
      CHECK(same_state(state_of(step, one.world), step.after));
    }
    REQUIRE(undo_steps(run.done, builtin_registry(), one.world.node));
    REQUIRE(undo_steps(run.done, builtin_registry(), one.world.node));
    for (const Step& step : run.done) CHECK(same_state(state_of(step, one.world), step.before));
  }
}

TEST_CASE("read-only: observing a node writes nothing to it", "[contract]") {
  STATIC_REQUIRE(std::is_invocable_v<decltype(&ResourceType::observe), const ResourceType&, const ObserveRequest&,
                                     const NodeReader&>);
  for (const OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    const FakeNode::Snapshot before = one.world.node.snapshot();
    static_cast<void>(look_at(one.world, builtin_registry()));
    CHECK(one.world.node.log().empty());
    CHECK(one.world.node.snapshot() == before);
  }
}

TEST_CASE("two observations give the same result", "[contract]") {
  for (const OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    const Look first = look_at(one.world, builtin_registry());
    const Look second = look_at(one.world, builtin_registry());
    CHECK(encode_json(encode(first.observed)) == encode_json(encode(second.observed)));
    CHECK(encode_json(describe(first)) == encode_json(describe(second)));
  }
}

TEST_CASE("every desired resource is reported after an apply, and never as absent", "[contract]") {
  for (OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    if (apply(one.world, look_at(one.world, builtin_registry())).error) continue;
    const Look after = look_at(one.world, builtin_registry());
    for (const Resource& resource : after.desired) {
      INFO(resource.id.str());
      const auto& resources = after.observed.types.at(resource.id.type).resources;
      REQUIRE(resources.contains(resource.id.name));
      CHECK_FALSE(std::holds_alternative<Absent>(resources.at(resource.id.name)));
    }
  }
}

TEST_CASE("a failed read is an Error, not an absent resource", "[contract]") {
  for (const OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    const int reads_before = one.world.node.reads();
    const Look whole = look_at(one.world, builtin_registry());
    const int reads = one.world.node.reads() - reads_before;
    for (int n = 1; n <= reads; ++n) {
      INFO("read " << n << " of " << reads);
      World world = one.world;
      world.node.fail_read(n, kNoAccess);
      const Look look = look_at(world, builtin_registry());
      for (const auto& [type, observed] : look.observed.types) {
        for (const auto& [name, observation] : observed.resources) {
          INFO(type << "/" << name);
          // A fault may hide the reason for not asking for a resource.
          const auto& known =
              whole.observed.types.contains(type) ? whole.observed.types.at(type).resources : observed.resources;
          if (!known.contains(name)) continue;
          const Observation& truth = known.at(name);
          CHECK((std::holds_alternative<Error>(observation) || same_observation(observation, truth)));
        }
      }
    }
  }
}

TEST_CASE("a fault at any write leaves every artifact completely old or completely new", "[contract]") {
  const bool after_effect = GENERATE(false, true);
  for (const OpenCase& one : open_all_cases()) {
    INFO(one.folder.title() << (after_effect ? ", after the effect" : ", before the effect"));
    World whole = one.world;
    if (apply(whole, look_at(whole, builtin_registry())).error) continue;  // Two faults at once are too many.
    const int writes = whole.node.writes();
    for (int n = 1; n <= writes; ++n) {
      INFO("write " << n << " of " << writes);
      World world = one.world;
      const Look look = look_at(world, builtin_registry());
      world.node.fail_write(n, kPowerCut, after_effect);
      static_cast<void>(apply(world, look));
      for (const Step& step : look.plan.steps) {
        INFO(step.artifact.str());
        const Observation now = state_of(step, world);
        CHECK((same_state(now, step.before) || same_state(now, step.after)));
      }
    }
  }
}

TEST_CASE("after a fault at any write the next apply repairs all resources", "[contract]") {
  for (const OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    World whole = one.world;
    if (apply(whole, look_at(whole, builtin_registry())).error) continue;
    const int writes = whole.node.writes();
    for (int n = 1; n <= writes; ++n) {
      INFO("write " << n << " of " << writes);
      World world = one.world;
      world.node.fail_write(n, kPowerCut);
      static_cast<void>(apply(world, look_at(world, builtin_registry())));
      world.node.clear_faults();
      const StepRun second = apply(world, look_at(world, builtin_registry()));
      CHECK_FALSE(second.error);
      CHECK(world.node.snapshot() == whole.node.snapshot());
    }
  }
}

TEST_CASE("removing the whole section restores every byte from before sparkplan", "[contract]") {
  for (OpenCase& one : open_all_cases()) {
    INFO(one.folder.title());
    if (one.world.applied) continue;  // Only for nodes on which sparkplan has never run.
    const FakeNode::Snapshot before = one.world.node.snapshot();
    const Look look = look_at(one.world, builtin_registry());
    const bool promised = std::all_of(look.plan.changes.begin(), look.plan.changes.end(),
                                      [](const Change& change) { return change.reversible == Reversible::kExact; });
    if (!promised || apply(one.world, look).error) continue;
    for (NodeSpec& node : one.world.cluster.nodes) node.sections.clear();
    const Look removal = look_at(one.world, builtin_registry());
    CHECK(removal.plan.kept_orphans.empty());
    CHECK_FALSE(apply(one.world, removal).error);
    CHECK(one.world.node.snapshot() == before);
    CHECK(one.world.manifest.resources.empty());
  }
}

}  // namespace sparkplan::test
