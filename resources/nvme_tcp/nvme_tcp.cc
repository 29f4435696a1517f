#include "resources/nvme_tcp/nvme_tcp.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/domain/storage/storage_network.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/nvme_tcp/connection_change.h"
#include "resources/nvme_tcp/connection_state.h"
#include "resources/nvme_tcp/connection_unit.h"
#include "resources/nvme_tcp/host_identity.h"

namespace sparkplan::nvme_tcp {
namespace {

ArtifactId connection_artifact(const std::string& subsystem) { return {"nvme_connection", subsystem}; }

std::string state_in(const Observation& observation) {
  const auto* present = std::get_if<Present>(&observation);
  return present == nullptr ? "" : present->value.text_or(field::kState, "");
}

class NvmeTcpType final : public ResourceType {
 public:
  explicit NvmeTcpType(std::string schema_json) {
    info_.name = "nvme_tcp";
    info_.section = "storage";
    info_.phase = Phase::kStorage;
    info_.summary = "connections to NVMe subsystems over TCP";
    info_.schema_json = std::move(schema_json);
    info_.files = {"/etc/systemd/system/sparkplan-nvme-NQN.service", std::string(kRulesFile), kHostNqnFile,
                   kHostIdFile};
    info_.reversible_of_removal = Reversible::kBestEffort;
    info_.checks_effect = true;
    info_.reported.resource = Shape::map({{field::kContent, Shape::text()},
                                          {field::kEnabled, Shape::boolean()},
                                          {field::kState, Shape::text(2 * Shape::kMostLineBytes)}});
    info_.reported.artifacts = {{connection_artifact("").kind, info_.reported.resource},
                                {identity_artifact("").kind, Shape::map({{"there", Shape::boolean(), true}})}};
    info_.reported.exported = Shape::map({{"hostid", Shape::text()}, {"hostnqn", Shape::text()}});
  }

  const TypeInfo& info() const override { return info_; }

  Desired desired(const ClusterView& view, const Value& section, const Facts& own) const override {
    Desired result;
    const std::vector<Connection> all = connections(section);
    if (all.empty()) return result;
    const auto fabric = fabric_of_storage(view, own, storage_mounts(section));
    result.diagnostics = shared_identities(view, all.front().where);
    result.incomplete = !result.diagnostics.empty();
    if (result.incomplete) return result;
    for (const Connection& connection : all) {
      Resource resource;
      resource.id = {info_.name, connection.server.subsystem};
      resource.desired = Value::map(
          {{field::kContent, render_unit(connection)}, {field::kEnabled, true}, {field::kState, state::kConnected}});
      resource.where = connection.where;
      resource.after = fabric;
      resource.reversible = Reversible::kBestEffort;
      result.resources.push_back(std::move(resource));
    }
    return result;
  }

  /// The mounts say which volumes they need; there is nothing to add.
  std::optional<Value> section_from(const ClusterView& /*view*/, const std::map<std::string, Value>& /*applied*/,
                                    const Facts& /*own*/) const override {
    return Value::list();
  }

  Result<Value> exports(const Value& section, const NodeReader& node) const override {
    if (connections(section).empty()) return Value();
    return identity_of(node);
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const ArtifactId rules = file_artifact(kRulesFile);
    observed.artifacts[rules] = sparkplan::read_artifact(rules, *this, node);
    if (node.live()) {
      for (const char* file : {kHostNqnFile, kHostIdFile}) {
        observed.artifacts[identity_artifact(file)] = observe_identity(file, node);
      }
    }
    for (const std::string& subsystem : request.names) {
      if (subsystem == kWholeFileName) continue;
      const auto connection = look_at_connection(subsystem, node);
      Observation& artifact = observed.artifacts[connection_artifact(subsystem)];
      artifact = connection ? observation_of(*connection, node.live()) : Observation(connection.error());
      observed.resources[subsystem] = artifact;
      if (!connection || connection->unit.in_the_way.empty()) continue;
      observed.resources[subsystem] =
          Error{ErrorCode::kRefused, connection->unit.in_the_way, {}, {}, "move it away, then plan again"};
    }
    return observed;
  }

  std::vector<FieldChange> diff(const Resource& resource, const Present& present) const override {
    std::vector<FieldChange> fields = ResourceType::diff(resource, present);
    std::erase_if(fields, [&](const FieldChange& one) {
      // The kernel is at it already, and nothing that apply could do would help.
      const bool at_work = one.path == field::kState && one.before == Value(state::kReconnecting) &&
                           one.after == Value(state::kConnected);
      // Nobody asks for it any more: that it is down just now is no reason to keep its unit.
      const bool past = !resource.where.known() && one.path != field::kContent &&
                        present.value.find(field::kContent) != nullptr && present.value.find(one.path) != nullptr;
      return at_work || past;
    });
    return fields;
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::vector<Step> steps;
    const auto rules = input.target.empty() ? std::nullopt : std::optional(render_rules());
    auto rules_step = text_artifact_step({file_artifact(kRulesFile), rules, 0644, "nvme_tcp/rules", {}}, input, info_);
    const auto add_rules = [&] {
      if (rules_step) steps.push_back(std::move(*rules_step));
    };
    // What everything stands on comes first and goes last.
    if (!input.target.empty()) {
      add_rules();
      add_identity_steps(input, steps);
    }
    for (const Change& change : input.changes) add_steps(change, input, steps);
    if (input.target.empty()) {
      add_identity_steps(input, steps);
      add_rules();
    }
    return steps;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    if (artifact.kind == identity_artifact("").kind) return observe_identity(artifact.name, node);
    if (artifact.kind != connection_artifact("").kind) return ResourceType::read_artifact(artifact, node);
    const auto connection = look_at_connection(artifact.name, node);
    if (!connection) return connection.error();
    return observation_of(*connection, node.live());
  }

  std::vector<Objection> prepare(std::span<const Step> steps, Node& node) const override {
    std::vector<Objection> objections;
    for (const Step& step : steps) {
      if (step.artifact.kind != connection_artifact("").kind || !node.live()) continue;
      const std::string before = state_in(step.before);
      const bool was_connected = !before.empty() && before != state::kNotConnected;
      const bool moves = before.starts_with(state::kElsewhere) || is_other_server(step);
      const bool goes = state_in(step.after).empty() || state_in(step.after) == state::kNotConnected;
      if (!was_connected || (!goes && !moves)) continue;
      // Mounts of ours that go as well have gone by then; those that stay are seen when it comes to it.
      const auto users = users_of(step.artifact.name, goes, node);
      if (!users) objections.push_back({step.artifact, users.error()});
      if (users && !users->empty()) objections.push_back({step.artifact, in_use(step.artifact.name, *users)});
    }
    return objections;
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    if (artifact.kind == identity_artifact("").kind) return make_identity(artifact.name, after, node);
    if (artifact.kind != connection_artifact("").kind) return ResourceType::apply(artifact, after, node);
    return make_connection(artifact.name, after, node);
  }

  std::vector<Ineffective> check_effect(const std::map<std::string, Value>& desired,
                                        const NodeReader& node) const override {
    std::vector<Ineffective> ineffective;
    for (const auto& [subsystem, value] : desired) {
      const auto connection = look_at_connection(subsystem, node);
      if (!connection || connection->state != state::kReconnecting) continue;
      ineffective.push_back({subsystem, "nvme_tcp.reconnecting",
                             "the server of " + subsystem + " does not answer; whoever reads there waits for it",
                             "the node connects by itself once the server is back"});
    }
    return ineffective;
  }

 private:
  Step step_for(const ArtifactId& artifact, const Change& change, std::string group) const {
    Step step;
    step.type = info_.name;
    step.artifact = artifact;
    step.phase = info_.phase;
    step.before = step.after = Absent{};
    step.resources = {change.id};
    step.group = std::move(group);
    return step;
  }

  /// The unit says another server than before.
  static bool is_other_server(const Step& step) {
    const auto content = [](const Observation& observation) {
      const auto* present = std::get_if<Present>(&observation);
      return present == nullptr ? "" : present->value.text_or(field::kContent, "");
    };
    const auto before = server_in(content(step.before));
    const auto after = server_in(content(step.after));
    return before && after && (before->address != after->address || before->port != after->port);
  }

  void add_identity_steps(const StepsInput& input, std::vector<Step>& steps) const {
    if (input.changes.empty()) return;
    for (const char* file : {kHostNqnFile, kHostIdFile}) {
      const ArtifactId artifact = identity_artifact(file);
      const auto seen = input.observed.artifacts.find(artifact);
      if (seen == input.observed.artifacts.end()) continue;
      const auto original = input.originals.find(artifact);
      Observation after = seen->second;
      if (!input.target.empty()) {
        after = Present{Value::map({{"there", true}}), {}};
      } else if (original != input.originals.end()) {
        after = original->second;
      }
      if (same_state(after, seen->second)) continue;
      Step step = step_for(artifact, input.changes.front(), "nvme_tcp/identity");
      step.before = seen->second;
      step.after = std::move(after);
      steps.push_back(std::move(step));
    }
  }

  void add_steps(const Change& change, const StepsInput& input, std::vector<Step>& steps) const {
    const ArtifactId artifact = connection_artifact(change.id.name);
    Step step = step_for(artifact, change, change.id.str());
    if (const auto seen = input.observed.artifacts.find(artifact); seen != input.observed.artifacts.end()) {
      step.before = seen->second;
    }
    if (const Resource* target = input.target_of(change.id)) {
      const Value& desired = target->desired;
      step.after = Present{desired, {}};
      // Undone after the mounts are that need it.
      step.activates = true;
      if (!is_live(input))
        step.after = Present{Value::map({{field::kContent, desired.text_or(field::kContent, "")}}), {}};
    } else if (const auto original = input.originals.find(artifact);
               original != input.originals.end() && !state_in(original->second).empty()) {
      // It was connected before sparkplan came, by somebody who still wants it.
      step.after = Present{Value::map({{field::kEnabled, false}, {field::kState, state_in(step.before)}}), {}};
    }
    if (std::holds_alternative<Absent>(step.before) && std::holds_alternative<Absent>(step.after)) return;
    steps.push_back(std::move(step));
  }

  static bool is_live(const StepsInput& input) {
    return input.observed.artifacts.contains(identity_artifact(kHostNqnFile));
  }

  TypeInfo info_;
};

}  // namespace

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json) {
  return std::make_unique<const NvmeTcpType>(std::move(schema_json));
}

}  // namespace sparkplan::nvme_tcp
