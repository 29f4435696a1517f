#include "tests/unit/plan/fakes.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"
#include "tests/support/catch.h"

namespace sparkplan::testing {
namespace {

constexpr const char* kHeader = "# Written by the tests\n";

/// Common base of all fakes: a test gives them their observations, and they write nothing.
class FakeType : public ResourceType {
 public:
  explicit FakeType(TypeInfo info) : ResourceType(std::move(info)) {}
  Desired desired(const ClusterView& /*view*/, const Value& /*section*/, const Facts& /*own*/) const override {
    return {};
  }
  ObservedType observe(const ObserveRequest& /*request*/, const NodeReader& /*node*/) const override { return {}; }
};

TypeInfo info_of(std::string name, Phase phase) {
  TypeInfo info;
  info.section = name;
  info.name = std::move(name);
  info.phase = phase;
  return info;
}

/// One value in the running kernel and in a file.
class KnobType : public FakeType {
 public:
  KnobType() : FakeType(info_of("knob", Phase::kKernelParameters)) {}

  std::vector<Step> steps(const StepsInput& input) const override {
    std::vector<Step> steps;
    for (const Change& change : input.changes) add_live_step(input, change, steps);
    std::map<std::string, std::int64_t> lines;
    for (const Resource& resource : input.target) {
      const Value* persistent = resource.desired.find("persistent");
      if (persistent != nullptr && persistent->integer() != nullptr) lines[resource.id.name] = *persistent->integer();
    }
    std::optional<std::string> content;
    if (!lines.empty()) content = knob_file(lines);
    if (auto step = text_artifact_step(kKnobFile, content, 0644, input, info())) steps.push_back(*std::move(step));
    return steps;
  }

 private:
  void add_live_step(const StepsInput& input, const Change& change, std::vector<Step>& steps) const {
    const ArtifactId artifact{"live", change.id.name};
    Observation after;
    if (const Resource* target = input.target_of(change.id)) {
      const Value* running = target->desired.find("running");
      after = Present{Value::map({{"running", running == nullptr ? Value() : *running}}), {}};
    } else if (const auto original = input.originals.find(artifact); original != input.originals.end()) {
      after = original->second;
    } else {
      return;
    }
    const auto seen = input.observed.resources.find(change.id.name);
    Observation before = Absent{};
    if (seen != input.observed.resources.end())
      if (const auto* present = std::get_if<Present>(&seen->second)) {
        const Value* running = present->value.find("running");
        if (running == nullptr) return;  // An image has no running kernel.
        before = Present{Value::map({{"running", *running}}), {}};
      }
    if (same_state(before, after)) return;
    steps.push_back({info().name, artifact, info().phase, before, after, {change.id}, {}, info().name});
  }
};

/// A type with one artifact per resource. Artifacts have the type's name as kind.
class SimpleType : public FakeType {
 public:
  SimpleType(std::string name, Phase phase) : FakeType(info_of(std::move(name), phase)) {}

  std::vector<Step> steps(const StepsInput& input) const override {
    std::vector<Step> steps;
    for (const Change& change : input.changes) {
      const Resource* target = input.target_of(change.id);
      const auto seen = input.observed.resources.find(change.id.name);
      Observation before = seen == input.observed.resources.end() ? Observation(Absent{}) : seen->second;
      Observation after = target == nullptr ? Observation(Absent{}) : Observation(Present{target->desired, {}});
      steps.push_back(
          {info().name, {info().name, change.id.name}, info().phase, before, after, {change.id}, {}, "calm"});
    }
    return steps;
  }
};

std::map<std::string, std::int64_t> lines_of_file(const std::optional<std::string>& file) {
  std::map<std::string, std::int64_t> lines;
  if (!file) return lines;
  for (const std::string_view line : split_lines(*file)) {
    const auto equals = line.find(" = ");
    if (line.starts_with("#") || equals == std::string_view::npos) continue;
    lines[std::string(line.substr(0, equals))] = std::stoll(std::string(line.substr(equals + 3)));
  }
  return lines;
}

Observation observe_knob(const Machine& machine, const std::string& name) {
  const auto lines = lines_of_file(machine.file);
  Present present{Value::map(), {}};
  if (const auto line = lines.find(name); line != lines.end()) present.value.set("persistent", line->second);
  if (!machine.live) {
    present.not_applicable["running"] = "nothing runs in an image";
  } else if (const auto value = machine.running.find(name); value != machine.running.end()) {
    present.value.set("running", value->second);
  } else if (present.value.find("persistent") == nullptr) {
    return Absent{};
  }
  return present;
}

Observation observe_one(const Machine& machine, const std::string& type, const std::string& name) {
  if (type == "knob") return observe_knob(machine, name);
  if (type == "link" && !machine.live) return NotApplicable{"an image has no links"};
  const auto& things = type == "link" ? machine.links : machine.keys;
  const auto found = things.find(type == "link" ? name : type + "/" + name);
  if (found == things.end()) return Absent{};
  if (type == "link") return Present{Value::map({{"mtu", std::stoi(found->second)}}), {}};
  if (type == "key") return Present{Value::map({{"made", true}}), {}};
  Value keys{Value::List{}};
  for (const std::string_view one : split(found->second, ',')) keys.push_back(one);
  return Present{Value::map({{"keys", keys}}), {}};
}

Observation observe_artifact(const Machine& machine, const Step& step) {
  if (step.artifact == kKnobFile) return machine.file ? file_present(*machine.file, 0644) : Observation(Absent{});
  if (step.artifact.kind == "live") {
    const auto value = machine.running.find(step.artifact.name);
    if (value == machine.running.end()) return Absent{};
    return Present{Value::map({{"running", value->second}}), {}};
  }
  return observe_one(machine, step.type, step.artifact.name);
}

void write_thing(Machine& machine, const Step& step) {
  auto& things = step.type == "link" ? machine.links : machine.keys;
  const std::string name = step.type == "link" ? step.artifact.name : step.type + "/" + step.artifact.name;
  const auto* present = std::get_if<Present>(&step.after);
  if (present == nullptr) {
    things.erase(name);
  } else if (step.type == "link") {
    things[name] = std::to_string(present->value.integer_or("mtu", 0));
  } else if (step.type == "key") {
    things[name] = "made";
  } else {
    std::vector<std::string> keys;
    for (const Value& one : *present->value.find("keys")->list_items()) keys.push_back(*one.string());
    things[name] = join(keys, ",");
  }
}

void write_artifact(Machine& machine, const Step& step) {
  if (step.artifact == kKnobFile) {
    machine.file = content_of(step.after);
  } else if (step.artifact.kind == "live") {
    const auto* present = std::get_if<Present>(&step.after);
    if (present == nullptr)
      machine.running.erase(step.artifact.name);
    else
      machine.running[step.artifact.name] = present->value.integer_or("running", -1);
  } else {
    write_thing(machine, step);
  }
}

Resource resource_of(std::string type, std::string name, Value desired) {
  Resource resource;
  resource.id = {std::move(type), std::move(name)};
  resource.desired = std::move(desired);
  resource.where = {7, 3, 9};
  return resource;
}

}  // namespace

std::string knob_file(const std::map<std::string, std::int64_t>& lines) {
  std::string text = kHeader;
  for (const auto& [name, value] : lines) text += name + " = " + std::to_string(value) + "\n";
  return text;
}

Registry fake_registry() {
  std::vector<std::unique_ptr<const ResourceType>> types;
  types.push_back(std::make_unique<SimpleType>("key", Phase::kUsersAndKeys));
  types.push_back(std::make_unique<KnobType>());
  types.push_back(std::make_unique<SimpleType>("link", Phase::kNetwork));
  types.push_back(std::make_unique<SimpleType>("trust", Phase::kUsersAndKeys));
  return Registry(std::move(types));
}

Resource knob(const std::string& name, std::int64_t value) {
  return resource_of("knob", name, Value::map({{"running", value}, {"persistent", value}}));
}
Resource key(const std::string& user) { return resource_of("key", user, Value::map({{"made", true}})); }
Resource trust(const std::string& user, Value keys) {
  return resource_of("trust", user, Value::map({{"keys", std::move(keys)}}));
}
Resource link(const std::string& name, std::int64_t mtu) {
  Resource resource = resource_of("link", name, Value::map({{"mtu", mtu}}));
  resource.impact = Impact::kInterruptsNetwork;
  resource.reversible = Reversible::kBestEffort;
  return resource;
}

ObservedState observe(const Machine& machine, const std::vector<Resource>& desired, const Manifest* manifest) {
  ObservedState state;
  for (const auto& [type, names] : names_to_observe(desired, manifest)) {
    ObservedType& seen = state.types[type];
    for (const std::string& name : names) seen.resources[name] = observe_one(machine, type, name);
  }
  if (const auto knobs = state.types.find("knob"); knobs != state.types.end())
    knobs->second.artifacts[kKnobFile] = machine.file ? file_present(*machine.file, 0644) : Observation(Absent{});
  for (const auto& [name, value] : machine.running)
    if (const auto knobs = state.types.find("knob"); knobs != state.types.end() && machine.live)
      knobs->second.artifacts[{"live", name}] = Present{Value::map({{"running", value}}), {}};
  return state;
}

void carry_out(const NodePlan& plan, Machine& machine) {
  for (const Step& step : plan.steps) {
    INFO("step " << step.artifact.str());
    REQUIRE(same_state(observe_artifact(machine, step), step.before));
    write_artifact(machine, step);
    REQUIRE(same_state(observe_artifact(machine, step), step.after));
  }
}

Manifest remember(const NodePlan& plan, const Manifest* before) {
  Manifest manifest = before == nullptr ? Manifest{} : *before;
  manifest.resources.clear();
  for (const auto& [id, value] : plan.resulting) manifest.resources[id].last_applied = value;
  for (const auto& [id, value] : plan.after_steps) {
    if (value.is_null())
      manifest.resources.erase(id);
    else
      manifest.resources[id].last_applied = value;
  }
  for (const Step& step : plan.steps) {
    auto [known, is_new] = manifest.artifacts.try_emplace(step.artifact);
    if (is_new) known->second = {step.type, "", step.before};
    known->second.written_digest = digest(step.after);
  }
  return manifest;
}

NodePlan Bench::plan() const {
  ObservedState observed = observe(machine, desired, known());
  if (distort) distort(observed);
  return plan_node({desired, &observed, known(), selected, failed, {}, unresolved}, registry);
}

NodePlan Bench::apply() {
  NodePlan made = plan();
  carry_out(made, machine);
  manifest = remember(made, known());
  return made;
}

Bench applied_bench() {
  Bench bench;
  bench.machine.running = {{"a", 10}, {"b", 20}, {"c", 30}};
  bench.desired = {knob("a", 1), knob("b", 2)};
  bench.apply();
  return bench;
}

Error no_permission() { return {ErrorCode::kPermissionDenied, "read", {}, {}, {}}; }

const Change* find_change(const NodePlan& plan, const std::string& id, std::optional<Origin> origin) {
  const auto found = std::find_if(plan.changes.begin(), plan.changes.end(), [&](const Change& change) {
    return change.id.str() == id && (!origin || change.origin == *origin);
  });
  return found == plan.changes.end() ? nullptr : &*found;
}

const FieldChange* find_field(const Change& change, const std::string& path) {
  const auto found =
      std::find_if(change.fields.begin(), change.fields.end(), [&](const auto& field) { return field.path == path; });
  return found == change.fields.end() ? nullptr : &*found;
}

std::string ids_of(const NodePlan& plan) {
  std::vector<std::string> ids;
  for (const Change& change : plan.changes) ids.push_back(change.id.str());
  return join(ids, " ");
}

std::string artifacts_of(const NodePlan& plan) {
  std::vector<std::string> ids;
  for (const Step& step : plan.steps) ids.push_back(step.artifact.str());
  return join(ids, " ");
}

}  // namespace sparkplan::testing
