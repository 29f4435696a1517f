#include <algorithm>
#include <utility>
#include <vector>

#include "engine/domain/storage/storage_network.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"
#include "resources/nvme_tcp/connection_state.h"
#include "resources/nvme_tcp/connection_unit.h"
#include "resources/nvme_tcp/host_identity.h"

/// Connections over TCP to the NVMe subsystems that the volumes of `storage` need.
namespace sparkplan::nvme_tcp {
namespace {

ArtifactId connection_artifact(const std::string& subsystem) { return {"nvme_connection", subsystem}; }

Observation there() { return Present{Value::map({{"there", true}}), {}}; }

class NvmeTcpType final : public ResourceType {
 public:
  NvmeTcpType() {
    info_.name = "nvme_tcp";
    info_.section = "storage";
    info_.phase = Phase::kStorage;
    info_.summary = "connections to NVMe subsystems over TCP";
    info_.files = {"/etc/systemd/system/sparkplan-nvme-NQN.service", std::string(kRulesFile), kHostNqnFile,
                   kHostIdFile};
    info_.reversible_of_removal = Reversible::kBestEffort;
    info_.checks_effect = true;
    info_.reported.resource = unit_shape();
    info_.reported.longest_name = kLongestWordName;
    info_.reported.artifacts = {{connection_artifact("").kind, info_.reported.resource},
                                {identity_artifact("").kind, Shape::map({{"there", Shape::boolean(), true}})}};
    info_.reported.exported = Shape::map({{"hostid", Shape::text()}, {"hostnqn", Shape::text()}});
  }

  Desired desired(const ClusterView& view, const Value& section, const Facts& own) const override {
    Desired result;
    const std::vector<Connection> all = connections(section);
    if (all.empty()) return result;
    const auto fabric = fabric_of_storage(view, own, storage_mounts(section));
    result.diagnostics = shared_identities(view, all.front().where);
    if (!result.diagnostics.empty()) {
      // Another node's claim to the identity must not keep connections that left the file from being removed.
      for (const Connection& connection : all) result.unresolved.insert({info_.name, connection.server.subsystem});
      return result;
    }
    for (const Connection& connection : all) {
      Value wanted = Value::map(
          {{field::kContent, render_unit(connection)}, {field::kEnabled, true}, {field::kState, state::kConnected}});
      result.resources.push_back(make_resource(connection.server.subsystem, std::move(wanted), connection.where));
      result.resources.back().after = fabric;
    }
    return result;
  }

  /// The records of the mounts already name the volumes that they need.
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
      const auto connection = look_at_connection(subsystem, node);
      Observation& artifact = observed.artifacts[connection_artifact(subsystem)];
      artifact = connection ? observation_of(*connection, node.live()) : Observation(connection.error());
      observed.resources[subsystem] = artifact;
      if (!connection || connection->unit.in_the_way.empty()) continue;
      observed.resources[subsystem] =
          make_error(ErrorCode::kRefused, connection->unit.in_the_way, "move it away, then plan again");
    }
    return observed;
  }

  std::vector<FieldChange> diff(const Resource& resource, const Present& present) const override {
    std::vector<FieldChange> fields = ResourceType::diff(resource, present);
    std::erase_if(fields, [&](const FieldChange& one) {
      // The kernel already retries, and an apply could not help.
      const bool at_work = one.path == field::kState && one.before == Value(state::kReconnecting) &&
                           one.after == Value(state::kConnected);
      // The resource is no longer in cluster.yaml: its current state is no reason to keep the unit.
      const bool past = !resource.where.known() && one.path != field::kContent &&
                        present.value.find(field::kContent) != nullptr && present.value.find(one.path) != nullptr;
      return at_work || past;
    });
    return fields;
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::vector<Step> steps;
    const auto rules = input.target.empty() ? std::nullopt : std::optional(render_rules(servers_of(input)));
    auto rules_step = text_artifact_step({file_artifact(kRulesFile), rules, 0644, "nvme_tcp/rules", {}}, input, info_);
    const auto add_rules = [&] {
      if (rules_step) steps.push_back(std::move(*rules_step));
    };
    // All connections need the rule and the identity: these come first and are removed last.
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

  std::vector<Objection> prepare(std::span<const Step> steps, const ChangesAhead& /*ahead*/,
                                 Node& node) const override {
    std::vector<Objection> objections;
    for (const Step& step : steps) {
      if (step.artifact.kind != connection_artifact("").kind || !node.live()) continue;
      const std::string before = unit_state_in(step.before);
      const bool was_connected = !before.empty() && before != state::kNotConnected;
      const bool moves = before.starts_with(state::kElsewhere) || is_other_server(step);
      const bool goes = unit_state_in(step.after).empty() || unit_state_in(step.after) == state::kNotConnected;
      if (!was_connected || (!goes && !moves)) continue;
      // Our mounts that this run removes are gone by then. apply() refuses if one of them remains.
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

  std::vector<Ineffective> check_effect(const ValuesByName& desired, const NodeReader& node) const override {
    std::vector<Ineffective> ineffective;
    for (const auto& [subsystem, value] : desired) {
      const auto connection = look_at_connection(subsystem, node);
      if (!connection || connection->state != state::kReconnecting) continue;
      ineffective.push_back({subsystem, "nvme_tcp.reconnecting",
                             "the server of " + subsystem + " does not answer; programs that use the volume hang",
                             "the node reconnects automatically when the server is back"});
    }
    return ineffective;
  }

 private:
  /// Whether the unit names another server than before.
  static bool is_other_server(const Step& step) {
    const auto before = server_in(unit_content_in(step.before));
    const auto after = server_in(unit_content_in(step.after));
    return before && after && (before->address != after->address || before->port != after->port);
  }

  static ServersBySubsystem servers_of(const StepsInput& input) {
    ServersBySubsystem servers;
    for (const Resource& resource : input.target) {
      if (auto server = server_in(resource.desired.text_or(field::kContent, "")))
        servers.emplace(resource.id.name, *std::move(server));
    }
    return servers;
  }

  void add_identity_steps(const StepsInput& input, std::vector<Step>& steps) const {
    if (input.changes.empty()) return;
    for (const char* file : {kHostNqnFile, kHostIdFile}) {
      const ArtifactId artifact = identity_artifact(file);
      const auto wanted = input.target.empty() ? std::nullopt : std::optional(there());
      auto step = own_step(artifact, wanted, input.changes.front().get().id, input, info_);
      if (!step) continue;
      step->group = "nvme_tcp/identity";
      step->reversible = Reversible::kExact;
      steps.push_back(*std::move(step));
    }
  }

  void add_steps(const Change& change, const StepsInput& input, std::vector<Step>& steps) const {
    const ArtifactId artifact = connection_artifact(change.id.name);
    Step step = step_for(artifact, change.id, info_);
    step.group = change.id.str();
    if (const Observation* seen = input.seen(artifact)) step.before = *seen;
    const Observation* original = input.original(artifact);
    if (const Resource* target = input.target_of(change.id)) {
      const Value& desired = target->desired;
      step.after = Present{desired, {}};
      // Undone after the mounts that need it.
      step.activates = true;
      if (!is_live(input))
        step.after = Present{Value::map({{field::kContent, desired.text_or(field::kContent, "")}}), {}};
    } else if (original != nullptr && !unit_state_in(*original).empty()) {
      // It was connected before sparkplan: the connection stays.
      step.after = Present{Value::map({{field::kEnabled, false}, {field::kState, unit_state_in(step.before)}}), {}};
    }
    if (std::holds_alternative<Absent>(step.before) && std::holds_alternative<Absent>(step.after)) return;
    steps.push_back(std::move(step));
  }

  static bool is_live(const StepsInput& input) {
    return input.observed.artifacts.contains(identity_artifact(kHostNqnFile));
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<NvmeTcpType>(); }

}  // namespace sparkplan::nvme_tcp
