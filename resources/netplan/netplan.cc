#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"
#include "resources/netplan/adoption.h"
#include "resources/netplan/foreign_files.h"
#include "resources/netplan/interfaces.h"
#include "resources/netplan/live_link.h"
#include "resources/netplan/netplan_file.h"
#include "resources/netplan/refusals.h"
#include "resources/netplan/shared_files.h"
#include "resources/netplan/taken_away.h"
#include "resources/netplan/trial.h"

/// The fabric's interfaces, and those of `interfaces` beside it, in one netplan file and in the kernel.
namespace sparkplan::netplan {
namespace {

/// netplan warns about files that other users can read: they may hold Wi-Fi passwords.
constexpr std::uint32_t kFileMode = 0600;
constexpr const char* kPersistent = "persistent";

/// Each is a finding. A node may claim thousands of profiles.
constexpr std::size_t kMostUnreadProfiles = 64;

constexpr const char* kVirtualFunctions = "virtual_functions";
constexpr const char* kNameServers = "name_servers";
/// The interfaces that our file has now, also those that are about to be restored.
constexpr const char* kConfigured = "configured";

/// {persistent: {...}, mtu?, up, addresses?, link_local?, routes?}; all but `persistent` are the running state.
Value desired_value(const Stanza& stanza) {
  Value value = encode(stanza);
  value.erase("renderer");
  value.erase("fabric");
  if (stanza.manages_addresses()) value.set("link_local", stanza.link_local);
  value.set("up", true);
  value.set(kPersistent, encode(stanza));
  return value;
}

/// The artifact keeps fields that are not applicable now: they are the current state.
Observation as_artifact(const Observation& link) {
  const auto* present = std::get_if<Present>(&link);
  return present == nullptr ? link : Observation(Present{present->value, {}});
}

class NetplanType final : public ResourceType {
 public:
  NetplanType() {
    info_.name = "netplan";
    info_.section = "fabric";
    info_.phase = Phase::kNetwork;
    info_.summary = "addresses and MTU of the fabric interfaces";
    info_.files = {std::string(kOwnFile)};
    info_.impact_of_removal = Impact::kInterruptsNetwork;
    // Source: netplan(5), "the files are merged by name, /run over /etc".
    info_.records = {.identity = {"name"}, .below = "interfaces"};
    info_.staging = {"/etc/netplan", "/run/netplan", "network:\n  version: 2\n"};
    info_.reported = reported_interfaces();
  }

  Desired desired(const ClusterView& view, const Value& section, const Facts& own) const override {
    Desired result;
    if (section.is_null()) return result;
    const Value* exported = view.export_of(view.self.name, info_.name);
    const ForeignFiles foreign = exported == nullptr ? ForeignFiles() : decode_foreign_files(*exported);
    WantedInterfaces wanted = wanted_interfaces(view, section, own, foreign.renderer);
    result.incomplete = !wanted.diagnostics.empty();
    result.diagnostics = std::move(wanted.diagnostics);
    if (exported == nullptr) {
      // Foreign definitions are unknown. The engine reports that the exports could not be read.
      result.incomplete = true;
      return result;
    }
    add_unread(foreign.unread_profiles, result.diagnostics);
    const auto virtual_functions = texts_in(exported->find(kVirtualFunctions));
    auto collisions =
        route_collisions(view.self.name.str(), fabric_in(wanted), texts_in(exported->find(kConfigured)), section, own);
    if (!collisions.empty()) {
      result.incomplete = true;
      std::move(collisions.begin(), collisions.end(), std::back_inserter(result.diagnostics));
      return result;
    }
    const OwnConnection connection(own.ssh_server_address, own.links);
    for (const auto& [port, stanza] : wanted.all) {
      const auto others = port.interface.empty()
                              ? std::vector<Definition>()
                              : in_the_way_of(stanza, definitions_of(port.interface, own.links, foreign));
      const Adopt adopt = adopt_of(port.interface, section, view, connection);
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
      if (auto gone = what_goes(port, stanza, before_take_over(port.interface, others, *exported), own)) {
        result.diagnostics.push_back(*std::move(gone));
      }
      Resource resource = make_resource(port.interface, desired_value(stanza), port.where);
      const bool may_take_over = stanza.manages_addresses() || !others.empty();
      if (may_take_over && takes_over(adopt, others)) resource.desired.set(kAlsoDefinedIn, Value(Value::List{}));
      result.resources.push_back(std::move(resource));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
                                    const Facts& own) const override {
    return interfaces_from(applied, own);
  }

  /// The foreign definitions, the virtual functions and the interfaces in our file: desired() decides by them whether
  /// sparkplan may manage an interface.
  Result<Value> exports(const Value& /*section*/, const NodeReader& node) const override {
    SPARK_TRY(const ForeignFiles foreign, read_foreign_files(node));
    SPARK_TRY(const auto virtual_functions, virtual_functions_of(node));
    Value exported = encode(foreign);
    exported.set(kVirtualFunctions, list_of_texts(virtual_functions));
    SPARK_TRY(Value name_servers, name_servers_of(node));
    if (!entries_of(name_servers).empty()) exported.set(kNameServers, std::move(name_servers));
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
            combine(name, stanzas ? *stanzas : Stanzas(), link, *links, sources_of(name, *links, *foreign));
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
    append(steps, text_artifact_step(file_artifact(kOwnFile), content, kFileMode, input, info_));
    for (Step& step : shared_file_steps(stanzas, input, info_)) steps.push_back(std::move(step));
    for (const Change& change : input.changes) append(steps, link_step(change.id, stanzas, input));
    for (Step& step : steps) step.disruptive = true;
    return steps;
  }

  /// Also interfaces that are no longer desired: restoring them could cut the connection too.
  std::optional<Error> refuses(const std::vector<Change>& changes, const Facts& own) const override {
    const OwnConnection connection(own.ssh_server_address, own.links);
    for (const Change& change : changes) {
      if (change.origin == Origin::kForeign) continue;
      const std::string why = connection.why_untouchable(change.id.name);
      if (why.empty()) continue;
      return make_error(ErrorCode::kRefused, change.id.name + " " + why + ", and the plan would change it",
                        "reach the node by an address outside the fabric, or use --allow-mgmt-change: the node rolls "
                        "back unless sparkplan reconnects in time");
    }
    return std::nullopt;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    if (artifact.kind != kLinkKind) return ResourceType::read_artifact(artifact, node);
    return as_artifact(observe_link(artifact.name, node));
  }

  /// A step that leaves the addresses as they are leaves them to others. A DHCP server can name an MTU, and a neighbour
  /// can take a link-local address away: the step sets both, or leaves both to others. No step needs a foreign profile
  /// to be active.
  bool may_begin_on(const Step& step, const Observation& now) const override {
    if (step.artifact.kind != kLinkKind) return false;
    Value before = present_value(step.before);
    Value shown = present_value(now);
    const Value* then = before.find("addresses");
    const Value* after = present_value(step.after).find("addresses");
    const bool keeps_addresses = then != nullptr && after != nullptr && *then == *after;
    for (Value* const state : {&before, &shown}) {
      if (keeps_addresses) state->erase("addresses");
      state->erase("link_local");
      state->erase("mtu");
    }
    // Whether NetworkManager's own profile is active yet depends on a neighbour's DHCP or router advertisements.
    if ((before.find(kProfileBefore) == nullptr) != (shown.find(kProfileBefore) == nullptr)) {
      before.erase(kProfileBefore);
      shown.erase(kProfileBefore);
    }
    return before == shown;
  }

  /// The renderer asks its neighbours for an address, or whether one is free. An interface may be gone with its cable.
  bool is_left_to_others(const ArtifactId& artifact, const Error& error) const override {
    return artifact.kind == kLinkKind && error.code == ErrorCode::kVerifyFailed;
  }

  std::vector<Objection> prepare(std::span<const Step> steps, const ChangesAhead& /*ahead*/,
                                 Node& node) const override {
    NetplanFiles changed;
    for (const Step& step : steps) {
      if (is_text_artifact(step.artifact)) changed[step.artifact.name] = content_of(step.after);
    }
    const bool writes = std::ranges::any_of(changed, [](const auto& file) { return file.second.has_value(); });
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
  static std::vector<ObservedPort> fabric_in(const WantedInterfaces& wanted) {
    std::vector<ObservedPort> fabric;
    for (const WantedInterface& one : wanted.all) {
      if (one.stanza.fabric) fabric.push_back(one.port);
    }
    return fabric;
  }

  static BeforeTakeOver before_take_over(const std::string& interface, const std::vector<Definition>& definitions,
                                         const Value& exported) {
    const auto configured = texts_in(exported.find(kConfigured));
    const bool is_ours = std::ranges::find(configured, interface) != configured.end();
    const Value* name_servers = exported.find(kNameServers);
    return {definitions, is_ours, texts_in(name_servers == nullptr ? nullptr : name_servers->find(interface))};
  }

  static std::vector<std::string> configured_in(const NodeReader& node) {
    std::vector<std::string> names;
    const auto text = node.read_file(kOwnFile);
    const auto stanzas = text ? parse_file(*text) : Result<Stanzas>(Stanzas());
    if (!stanzas) return names;
    for (const auto& [name, stanza] : *stanzas) names.push_back(name);
    return names;
  }

  static void add_unread(const std::vector<UnreadableFile>& profiles, std::vector<Diagnostic>& diagnostics) {
    const auto add = [&](const std::string& message) {
      diagnostics.push_back(finding(Severity::kWarning, "fabric.profile-unread", message,
                                    "`nmcli connection show` lists the profiles and their interfaces"));
    };
    const std::size_t named = std::min(profiles.size(), kMostUnreadProfiles);
    for (std::size_t i = 0; i < named; ++i) {
      add(profiles[i].source +
          " could not be read, and may configure an interface of the fabric at boot: " + profiles[i].message);
    }
    const std::size_t more = profiles.size() - named;
    if (more > 0) {
      add(std::to_string(more) + " more profile" + (more == 1 ? "" : "s") +
          " of NetworkManager could not be read, and may configure an interface of the fabric at boot");
    }
  }

  static Error unreadable_file(const UnreadableFile& file) {
    if (file.is_beyond_limits) {
      return make_error(ErrorCode::kUnsupported,
                        file.source + " is no file that sparkplan reads: " + file.message +
                            ". It may define an interface of the fabric",
                        "move what is not for netplan out of that file, or split it");
    }
    return make_error(ErrorCode::kFailed,
                      file.source + " cannot be read as YAML (" + file.message + "), so netplan refuses every change",
                      "repair that file or move it out of the netplan directories");
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
    if (!paths) return;  // The resources report unreadable files.
    for (const std::string& path : *paths) {
      const ArtifactId artifact = file_artifact(path);
      observed.artifacts[artifact] = sparkplan::read_artifact(artifact, type, node);
    }
  }

  static Observation combine(const std::string& name, const Stanzas& stanzas, const Observation& link,
                             const std::vector<LinkFacts>& links, const std::vector<std::string>& also_defined_in) {
    if (const auto* error = std::get_if<Error>(&link)) return *error;
    Present present{Value::map({{kAlsoDefinedIn, list_of_texts(also_defined_in)}}), {}};
    const auto stanza = stanzas.find(name);
    if (stanza != stanzas.end()) present.value.set(kPersistent, encode(stanza->second));
    if (const auto* reason = std::get_if<NotApplicable>(&link)) {
      for (const char* field : {"mtu", "up", "addresses", "link_local"}) present.not_applicable[field] = reason->reason;
      if (stanza != stanzas.end() && !stanza->second.routes.empty()) present.not_applicable["routes"] = reason->reason;
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
    if (stanza == stanzas.end() || !stanza->second.manages_addresses()) return present;
    // Our file switches DHCP and router advertisements off, so an acquired address is a difference.
    const auto whole = std::ranges::find(links, name, &LinkFacts::name);
    if (whole == links.end() || present.value.find("addresses") == nullptr) return present;
    present.value.set("addresses", *encode_link_state(*whole).find("addresses"));
    return present;
  }

  /// Activates the file's stanza on the interface; without one, restores the state before sparkplan.
  std::optional<Step> link_step(const ResourceId& id, const Stanzas& stanzas, const StepsInput& input) const {
    const ArtifactId artifact = link_artifact(id.name);
    const Observation* observed = input.seen(artifact);
    if (observed == nullptr || !std::holds_alternative<Present>(*observed)) return std::nullopt;
    const Observation* original = input.original(artifact);
    Observation after = original == nullptr ? Absent{} : *original;
    if (const auto stanza = stanzas.find(id.name); stanza != stanzas.end()) {
      after = link_state_wanted(stanza->second, present_value(*observed));
    }
    if (!std::holds_alternative<Present>(after)) return std::nullopt;
    Step step = step_for(artifact, id, info_);
    step.before = *observed;
    step.after = std::move(after);
    step.activates = true;
    return step;
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<NetplanType>(); }

}  // namespace sparkplan::netplan
