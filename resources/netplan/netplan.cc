#include "resources/netplan/netplan.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "engine/core/text_list.h"
#include "engine/domain/fabric/fabric_interfaces.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/netplan/adoption.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/interfaces.h"
#include "resources/netplan/live_link.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/refusals.h"
#include "resources/netplan/reported.h"
#include "resources/netplan/route_collisions.h"
#include "resources/netplan/trial.h"

namespace sparkplan::netplan {
namespace {

/// netplan warns of anything that others can read: a file may hold passwords of a Wi-Fi.
constexpr std::uint32_t kFileMode = 0600;
constexpr const char* kPersistent = "persistent";

constexpr const char* kVirtualFunctions = "virtual_functions";
/// The interfaces that our file has now, be they asked for or about to be given back.
constexpr const char* kConfigured = "configured";

Stanza stanza_of(const FabricPort& wanted, Renderer renderer) {
  Stanza stanza;
  stanza.renderer = renderer;
  stanza.mtu = wanted.mtu;
  stanza.link_local = wanted.link_local;
  if (!wanted.address.empty()) {
    stanza.addresses.push_back(wanted.address + "/" + std::to_string(wanted.prefix_length));
  }
  return stanza;
}

/// {persistent: {...}, mtu?, up, addresses?, link_local?}; the latter are the running state.
Value desired_value(const Stanza& stanza) {
  Value value = encode(stanza);
  value.erase("renderer");
  if (stanza.manages_addresses()) value.set("link_local", stanza.link_local);
  value.set("up", true);
  value.set(kPersistent, encode(stanza));
  return value;
}

/// Fields that are not applicable now are part of the artifact all the same: they are what is there.
Observation as_artifact(const Observation& link) {
  const auto* present = std::get_if<Present>(&link);
  return present == nullptr ? link : Observation(Present{present->value, {}});
}

/// What the node exports of itself; null when it could not say.
const Value* exported_of(const ClusterView& view) {
  const auto node = view.exports.find(view.self.name.str());
  if (node == view.exports.end()) return nullptr;
  const auto exported = node->second.find("netplan");
  return exported == node->second.end() ? nullptr : &exported->second;
}

class NetplanType final : public ResourceType {
 public:
  explicit NetplanType(std::string schema_json) {
    info_.name = "netplan";
    info_.section = "fabric";
    info_.phase = Phase::kNetwork;
    info_.summary = "addresses and MTU of the fabric interfaces";
    info_.schema_json = std::move(schema_json);
    info_.files = {std::string(kOwnFile)};
    info_.impact_of_removal = Impact::kInterruptsNetwork;
    // Source: netplan(5), "the files are merged by name, /run over /etc".
    info_.staging = {"/etc/netplan", "/run/netplan", "network:\n  version: 2\n"};
    info_.reported = reported_interfaces();
  }

  const TypeInfo& info() const override { return info_; }

  Desired desired(const ClusterView& view, const Value& section, const Facts& own) const override {
    Desired result;
    if (section.is_null()) return result;
    FabricInterfaces found = fabric_interfaces(view.self, own, view.cluster.profile);
    result.incomplete = !found.diagnostics.empty();
    result.diagnostics = std::move(found.diagnostics);
    const Value* exported = exported_of(view);
    if (exported ==
        nullptr) {  // Whose the interfaces are cannot be told; that they could not be read is said elsewhere.
      result.incomplete = true;
      return result;
    }
    const ForeignFiles foreign = decode_foreign_files(*exported);
    const auto virtual_functions = texts_in(exported->find(kVirtualFunctions));
    auto collisions =
        route_collisions(view.self.name.str(), found.interfaces, texts_in(exported->find(kConfigured)), section, own);
    if (!collisions.empty()) {
      result.incomplete = true;
      std::move(collisions.begin(), collisions.end(), std::back_inserter(result.diagnostics));
      return result;
    }
    for (const ObservedPort& port : found.interfaces) {
      const auto others =
          port.interface.empty() ? std::vector<Definition>() : definitions_of(port.interface, own.links, foreign);
      const Adopt adopt = adopt_of(port.interface, section, view, own);
      if (adopt == Adopt::kKeep && !others.empty()) {
        result.diagnostics.push_back(left_to(port.interface, others.front(), port.where));
        continue;
      }
      result.refused = why_not_ours(port.interface, others, adopt);
      if (!result.refused) result.refused = why_unfit(port, own.links, virtual_functions);
      if (result.refused) {
        result.resources.clear();
        return result;
      }
      Resource resource;
      resource.id = {info_.name, port.interface};
      resource.desired = desired_value(stanza_of(port, foreign.renderer));
      if (takes_over(adopt, others)) resource.desired.set(kAlsoDefinedIn, Value(Value::List{}));
      resource.where = port.where;
      resource.impact = Impact::kInterruptsNetwork;
      result.resources.push_back(std::move(resource));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const std::map<std::string, Value>& applied,
                                    const Facts& own) const override {
    return interfaces_from(applied, own);
  }

  /// What other netplan files say and which interfaces are parts of others, so that desired() can tell
  /// whose the interfaces are.
  Result<Value> exports(const Value& /*section*/, const NodeReader& node) const override {
    SPARK_TRY(const ForeignFiles foreign, read_foreign_files(node));
    SPARK_TRY(const auto virtual_functions, virtual_functions_of(node));
    Value exported = encode(foreign);
    exported.set(kVirtualFunctions, list_of_texts(virtual_functions));
    exported.set(kConfigured, list_of_texts(configured_in(node)));
    return exported;
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const ArtifactId artifact = file_artifact(kOwnFile);
    const Observation& file = observed.artifacts[artifact] = sparkplan::read_artifact(artifact, *this, node);
    const Result<Stanzas> stanzas = parse_file(content_of(file).value_or(""));
    const Result<ForeignFiles> foreign = read_foreign_files(node);
    const auto links = node.live() ? node.links() : Result<std::vector<LinkFacts>>(std::vector<LinkFacts>());
    for (const std::string& name : request.names) {
      if (name == kWholeFileName) continue;
      const Observation link = observe_link(name, node);
      if (!std::holds_alternative<NotApplicable>(link)) observed.artifacts[link_artifact(name)] = as_artifact(link);
      if (const auto* error = std::get_if<Error>(&file)) {
        observed.resources[name] = *error;
      } else if (!links) {
        observed.resources[name] = links.error();
      } else if (!foreign) {
        observed.resources[name] = foreign.error();
      } else if (!foreign->unreadable.empty()) {
        observed.resources[name] = unreadable_file(foreign->unreadable.front());
      } else {
        observed.resources[name] =
            combine(name, stanzas ? *stanzas : Stanzas(), link, sources_of(name, *links, *foreign));
        add_claims({info_.name, name}, link, *links, *foreign, observed.foreign);
        if (name == request.names.front()) add_stale_bonds({info_.name, name}, *links, observed.foreign);
      }
    }
    if (foreign) observe_shared_files(request, *foreign, node, *this, observed);
    return observed;
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    Stanzas stanzas;
    for (const Resource& resource : input.target) {
      const Value* persistent = resource.desired.find(kPersistent);
      if (persistent != nullptr) stanzas[resource.id.name] = decode_stanza(*persistent);
    }
    std::optional<std::string> content;
    if (!stanzas.empty()) content = render_file(stanzas);
    std::vector<Step> steps;
    if (auto step = text_artifact_step(file_artifact(kOwnFile), content, kFileMode, input, info_)) {
      steps.push_back(*std::move(step));
    }
    for (const auto& [artifact, text] : input.observed.artifacts) {
      if (artifact.name == kOwnFile || !is_text_artifact(artifact)) continue;
      if (auto step = shared_file_step(artifact, stanzas, input, info_)) steps.push_back(*std::move(step));
    }
    for (const Change& change : input.changes) {
      if (auto step = link_step(change.id, stanzas, input)) steps.push_back(*std::move(step));
    }
    for (Step& step : steps) step.disruptive = true;
    return steps;
  }

  /// Also what is no longer asked for: to give it back would cut the connection as well.
  std::optional<Error> refuses(const std::vector<Change>& changes, const Facts& own) const override {
    for (const Change& change : changes) {
      if (change.origin == Origin::kForeign) continue;
      const std::string why = why_untouchable(change.id.name, own.ssh_server_address, own.links);
      if (why.empty()) continue;
      return Error{ErrorCode::kRefused,
                   change.id.name + " " + why + ", and would change",
                   {},
                   {},
                   "reach the node by an address outside the fabric, or give --allow-mgmt-change: it is tried, and "
                   "undone unless the node answers"};
    }
    return std::nullopt;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    if (artifact.kind != kLinkKind) return ResourceType::read_artifact(artifact, node);
    return as_artifact(observe_link(artifact.name, node));
  }

  std::vector<Objection> prepare(std::span<const Step> steps, Node& node) const override {
    NetplanFiles changed;
    for (const Step& step : steps) {
      if (is_text_artifact(step.artifact)) changed[step.artifact.name] = content_of(step.after);
    }
    const bool writes =
        std::any_of(changed.begin(), changed.end(), [](const auto& file) { return file.second.has_value(); });
    if (!writes || !node.live()) return {};
    const auto tried = try_netplan_files(changed, node);
    std::vector<Objection> objections;
    for (const Step& step : steps) {
      if (!tried && is_text_artifact(step.artifact)) objections.push_back({step.artifact, tried.error()});
    }
    return objections;
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    if (artifact.kind != kLinkKind) return ResourceType::apply(artifact, after, node);
    return activate_link(artifact.name, after, node);
  }

 private:
  static std::vector<std::string> configured_in(const NodeReader& node) {
    std::vector<std::string> names;
    const auto text = node.read_file(kOwnFile);
    const auto stanzas = text ? parse_file(*text) : Result<Stanzas>(Stanzas());
    if (!stanzas) return names;
    for (const auto& [name, stanza] : *stanzas) names.push_back(name);
    return names;
  }

  static Error unreadable_file(const UnreadableFile& file) {
    return {ErrorCode::kFailed,
            file.source + " cannot be read as YAML (" + file.message +
                "), and netplan refuses every change while it is there",
            {},
            {},
            "mend that file or move it out of the netplan directories"};
  }

  static std::vector<std::string> sources_of(const std::string& name, const std::vector<LinkFacts>& links,
                                             const ForeignFiles& foreign) {
    std::vector<std::string> sources;
    for (const Definition& one : definitions_of(name, links, foreign)) {
      if (!gives_way(one)) sources.push_back(one.source);
    }
    return sources;
  }

  static void observe_shared_files(const ObserveRequest& request, const ForeignFiles& foreign, const NodeReader& node,
                                   const ResourceType& type, ObservedType& observed) {
    const auto paths = files_to_share(request.names, foreign, node);
    if (!paths) return;  // Of what could not be read, the resources say so.
    for (const std::string& path : *paths) {
      const ArtifactId artifact = file_artifact(path);
      observed.artifacts[artifact] = sparkplan::read_artifact(artifact, type, node);
    }
  }

  static Observation combine(const std::string& name, const Stanzas& stanzas, const Observation& link,
                             const std::vector<std::string>& also_defined_in) {
    if (const auto* error = std::get_if<Error>(&link)) return *error;
    Present present{Value::map({{kAlsoDefinedIn, list_of_texts(also_defined_in)}}), {}};
    if (const auto stanza = stanzas.find(name); stanza != stanzas.end()) {
      present.value.set(kPersistent, encode(stanza->second));
    }
    if (const auto* reason = std::get_if<NotApplicable>(&link)) {
      for (const char* field : {"mtu", "up", "addresses", "link_local"}) present.not_applicable[field] = reason->reason;
      return present;
    }
    const auto* shown = std::get_if<Present>(&link);
    const Value::Map* fields = shown == nullptr ? nullptr : shown->value.entries();
    if (fields == nullptr) return present;
    present.not_applicable = shown->not_applicable;
    for (const MapEntry& field : *fields) {
      if (field.key == kProfileBefore || shown->not_applicable.contains(field.key)) continue;
      present.value.set(field.key, field.value);
    }
    return present;
  }

  /// Brings what the file says to the interface; for one that is no longer wanted, the state from
  /// before sparkplan came.
  std::optional<Step> link_step(const ResourceId& id, const Stanzas& stanzas, const StepsInput& input) const {
    const ArtifactId artifact = link_artifact(id.name);
    const auto observed = input.observed.artifacts.find(artifact);
    if (observed == input.observed.artifacts.end()) return std::nullopt;
    const auto* now = std::get_if<Present>(&observed->second);
    if (now == nullptr) return std::nullopt;
    Observation after;
    if (const auto stanza = stanzas.find(id.name); stanza != stanzas.end()) {
      after = link_state_wanted(stanza->second, now->value);
    } else if (const auto original = input.originals.find(artifact); original != input.originals.end()) {
      after = original->second;
    }
    if (!std::holds_alternative<Present>(after)) return std::nullopt;
    Step step;
    step.type = info_.name;
    step.artifact = artifact;
    step.phase = info_.phase;
    step.before = observed->second;
    step.after = std::move(after);
    step.resources = {id};
    step.group = info_.name;
    step.activates = true;
    return step;
  }

  TypeInfo info_;
};

}  // namespace

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json) {
  return std::make_unique<const NetplanType>(std::move(schema_json));
}

}  // namespace sparkplan::netplan
