#include "tests/unit/agent/fake_type.h"

#include "engine/resource/artifact.h"

namespace sparkplan::test {
namespace {

std::filesystem::path path_of(const ArtifactId& artifact) { return "/knobs/" + artifact.name; }

std::string value_of(const Observation& observation) {
  const auto* present = std::get_if<Present>(&observation);
  return present == nullptr ? "absent" : present->value.text_or("value", "?");
}

class FakeType final : public ResourceType {
 public:
  explicit FakeType(FakeHooks& hooks, const std::string& name = "fake") : hooks_(hooks) {
    info_.name = name;
    info_.section = name;
    info_.exports_everywhere = hooks.exports_everywhere;
  }

  Desired desired(const ClusterView&, const Value&, const Facts&) const override { return {}; }
  std::vector<Step> steps(const StepsInput&) const override { return {}; }

  Result<Value> exports(const Value& section, const NodeReader& node) const override {
    if (section == Value("broken")) return failure(ErrorCode::kFailed, "the export is broken");
    const auto text = node.read_file("/knobs/exported");
    return text ? Value(*text) : Value();
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    for (const auto& name : request.names) observed.resources[name] = read_artifact(knob(name), node);
    return observed;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    const auto text = node.read_file(path_of(artifact));
    if (text) return set_to(*text);
    if (text.error().code == ErrorCode::kNotFound) return Absent{};
    return text.error();
  }

  bool may_begin_on(const Step&, const Observation&) const override { return hooks_.left_to_others; }

  std::vector<Objection> prepare(std::span<const Step>, const ChangesAhead&, Node&) const override {
    return hooks_.objections;
  }

  std::vector<Ineffective> check_effect(const std::map<std::string, Value>& desired, const NodeReader&) const override {
    std::vector<Ineffective> findings;
    for (const auto& [name, value] : desired) findings.push_back({name, "fake.no-effect", display(value), "look"});
    return findings;
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    hooks_.log.push_back(artifact.name + "=" + value_of(after));
    if (hooks_.interfere) {
      if (auto error = hooks_.interfere(artifact, after)) {
        if (hooks_.half) SPARK_CHECK(node.write_file(path_of(artifact), {"half", 0644, 0, 0}));
        return failure(*std::move(error));
      }
    }
    if (std::holds_alternative<Absent>(after)) return node.remove_file(path_of(artifact));
    return node.write_file(path_of(artifact), {value_of(after), 0644, 0, 0});
  }

  Result<ActivationEnd> begin(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    if (!hooks_.begun_first.contains(artifact.name)) return ActivationEnd();
    hooks_.log.push_back(artifact.name + " begins");
    return ActivationEnd([this, artifact, after, &node] { return apply(artifact, after, node); });
  }

 private:
  FakeHooks& hooks_;
};

Step step_of(ArtifactId artifact, Observation before, Observation after, const std::string& group) {
  Step step;
  step.type = "fake";
  step.artifact = std::move(artifact);
  step.before = std::move(before);
  step.after = std::move(after);
  step.group = group;
  step.resources = {{"fake", step.artifact.name}};
  return step;
}

}  // namespace

Registry fake_registry(FakeHooks& hooks) {
  std::vector<std::unique_ptr<const ResourceType>> types;
  types.push_back(std::make_unique<FakeType>(hooks));
  return Registry(std::move(types));
}

Registry fake_registry_with_other(FakeHooks& hooks) {
  std::vector<std::unique_ptr<const ResourceType>> types;
  types.push_back(std::make_unique<FakeType>(hooks));
  types.push_back(std::make_unique<FakeType>(hooks, "other"));
  return Registry(std::move(types));
}

Step other_types(Step step) {
  step.type = "other";
  step.resources = {{"other", step.artifact.name}};
  return step;
}

ArtifactId knob(const std::string& name) { return {"knob", name}; }

Observation set_to(const std::string& value) { return Present{Value::map({{"value", value}}), {}}; }

Step knob_step(const std::string& name, Observation before, Observation after, const std::string& group) {
  return step_of(knob(name), std::move(before), std::move(after), group);
}

Step file_step(const std::string& path, Observation before, Observation after, const std::string& group) {
  return step_of(file_artifact(path), std::move(before), std::move(after), group);
}

}  // namespace sparkplan::test
