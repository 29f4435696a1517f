#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/core/finding.h"
#include "engine/core/text.h"
#include "engine/core/text_list.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/package/apt.h"
#include "resources/package/dpkg_status.h"
#include "resources/package/sources.h"

/// Installed Debian packages: `packages: [nvme-cli, perftest]`.
namespace sparkplan::package {
namespace {

constexpr const char* kState = "state";
constexpr const char* kInstalled = "installed";
constexpr const char* kAutomatic = "automatic";
constexpr const char* kVersion = "version";
/// The requested packages that this package needs: observed, never desired.
constexpr const char* kNeeds = "needs";
constexpr const char* kMissing = "missing";
/// An installed package of any version. `automatic` marks one that apt installed as a dependency.
constexpr std::string_view kPackageKind = "package";
/// As kPackageKind, for a package with a declared version.
constexpr std::string_view kVersionKind = "package_version";

/// "nvme-cli=2.3-1" -> "nvme-cli", "2.3-1"
struct Wish {
  std::string name;
  std::string version;  ///< Empty: any.
};
Wish wish_of(const Value& item) {
  const std::string& text = *item.string();
  const auto equals = text.find('=');
  if (equals == std::string::npos) return {text, {}};
  return {text.substr(0, equals), text.substr(equals + 1)};
}

ArtifactId package_artifact(const std::string& name) { return {std::string(kPackageKind), name}; }
ArtifactId version_artifact(const std::string& name) { return {std::string(kVersionKind), name}; }

Observation asked_for() { return Present{Value::map({{kInstalled, true}}), {}}; }
Observation of_version(const std::string& version) { return Present{Value::map({{kVersion, version}}), {}}; }

/// A package that apt installed as a dependency existed before it was requested, so `automatic` keeps it from removal.
Observation artifact_of(std::string_view kind, const KnownPackage* package) {
  if (package == nullptr || !package->installed()) return Absent{};
  Observation artifact = kind == kVersionKind ? of_version(package->version) : asked_for();
  if (package->automatic) std::get<Present>(artifact).value.set(kAutomatic, true);
  return artifact;
}

bool is_automatic(const Observation& artifact) { return present_value(artifact).boolean_or(kAutomatic, false); }

Observation resource_of(const KnownPackage* package, const std::set<std::string>& asked) {
  if (package == nullptr || !package->installed()) return Absent{};
  Value::List needs;
  for (const std::string& name : asked) {
    if (package->needs.contains(name)) needs.emplace_back(name);
  }
  return Present{Value::map({{kNeeds, std::move(needs)}, {kState, kInstalled}, {kVersion, package->version}}), {}};
}

NotApplicable not_in_a_tree() { return {"packages are installed on running nodes only"}; }

std::string version_in(const Observation& artifact) { return present_value(artifact).text_or(kVersion, ""); }

std::string specification(const ArtifactId& artifact, const Observation& after) {
  const std::string version = version_in(after);
  return version.empty() ? artifact.name : artifact.name + "=" + version;
}

std::string list_of(const std::set<std::string>& names) {
  return join(std::vector<std::string>(names.begin(), names.end()), ", ");
}

/// apt's objections to the steps of a run. Package lists are updated at most once, if they are old or an install fails.
class Preparation {
 public:
  explicit Preparation(Node& node) : node_(node) {}

  std::optional<Error> objection_to_install(const Step& step) {
    if (!updated_ && lists_are_old(node_)) update();
    auto error = try_install(step);
    if (!error || updated_) return error;
    update();
    return try_install(step);
  }

  std::optional<Error> objection_to_removal(const std::string& name, const std::set<std::string>& all) const {
    const auto simulation = simulate_removal(name, node_);
    if (!simulation) return simulation.error();
    const auto status = DpkgStatus::read(node_);
    if (!status) return status.error();
    std::set<std::string> expected;
    for (const std::string& one : all) expected.insert(status->name_to_apt(one));
    std::set<std::string> others;
    std::set_difference(simulation->removes.begin(), simulation->removes.end(), expected.begin(), expected.end(),
                        std::inserter(others, others.end()));
    if (others.empty()) return std::nullopt;
    return make_error(ErrorCode::kRefused, list_of(others) + " would be removed with " + name,
                      "remove " + list_of(others) + " first if it is not needed, or keep " + name + " in the file");
  }

 private:
  void update() {
    updated_ = true;
    if (auto updated = update_lists(node_); !updated) update_failure_ = updated.error().message;
  }

  std::optional<Error> try_install(const Step& step) const {
    const std::string wanted = specification(step.artifact, step.after);
    const auto simulation = simulate_install(wanted, node_);
    if (!simulation) return simulation.error();
    if (!simulation->removes.empty()) {
      return make_error(ErrorCode::kRefused, "installing " + wanted + " would remove " + list_of(simulation->removes),
                        "install it by hand if that is what you want");
    }
    if (!simulation->complaint.empty()) return unknown(wanted, simulation->complaint);
    const auto status = DpkgStatus::read(node_);
    if (!status) return status.error();
    const KnownPackage* now = status->find(step.artifact.name);
    const bool there = now != nullptr && (now->installed() || now->broken());
    if (there || simulation->installs.contains(status->name_to_apt(step.artifact.name))) return std::nullopt;
    return unknown(wanted, "apt would install " + list_of(simulation->installs) + " instead");
  }

  Error unknown(const std::string& wanted, const std::string& complaint) const {
    std::string message = "apt cannot install " + wanted + ": " + complaint;
    if (!update_failure_.empty()) message += "; and the package lists could not be updated: " + update_failure_;
    return make_error(ErrorCode::kNotFound, std::move(message),
                      "find the name with `apt-cache search`; the node may lack the package source that has it");
  }

  Node& node_;
  bool updated_ = false;
  std::string update_failure_;
};

class PackageType final : public ResourceType {
 public:
  PackageType() {
    info_.name = "package";
    info_.section = "packages";
    info_.phase = Phase::kPackages;
    info_.summary = "Debian packages that are installed";
    info_.files = {std::string(kStatusFile) + " (through apt-get)"};
    info_.reversible_of_removal = Reversible::kBestEffort;
    info_.foresees = true;
    const Shape word = Shape::text(Shape::kMostLineBytes);
    info_.reported.resource = Shape::map({{kNeeds, Shape::texts()}, {kState, word}, {kVersion, word}});
    info_.reported.artifacts = {
        {std::string(kPackageKind), Shape::map({{kInstalled, Shape::boolean()}, {kAutomatic, Shape::boolean()}})},
        {std::string(kVersionKind), Shape::map({{kVersion, word}, {kAutomatic, Shape::boolean()}})}};
    info_.reported.exported = Shape::map({{kMissing, Shape::texts()}});
  }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    for (const Value& item : items_of(section)) {
      const Wish wish = wish_of(item);
      Value wanted = Value::map({{kState, kInstalled}});
      if (!wish.version.empty()) wanted.set(kVersion, wish.version);
      result.resources.push_back(make_resource(wish.name, std::move(wanted), item.where));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const std::map<std::string, Value>& applied,
                                    const Facts& /*own*/) const override {
    Value section = Value::list();
    for (const auto& [name, value] : applied) {
      const std::string version = value.text_or(kVersion, "");
      section.push_back(version.empty() ? name : name + "=" + version);
    }
    return section;
  }

  std::vector<Diagnostic> validate(const Value& section) const override {
    std::vector<Diagnostic> findings;
    std::map<std::string, const Value*> seen;
    for (const Value& item : items_of(section)) {
      const std::string name = wish_of(item).name;
      if (name.ends_with('-')) {
        findings.push_back(finding("package.name", "\"-\" at the end tells apt to remove the package",
                                   "leave it out: packages not in the file are not touched", item.where));
      }
      const auto [first, fresh] = seen.emplace(name, &item);
      if (fresh) continue;
      findings.push_back(finding("package.twice", name + " is listed twice", "keep one of the two", item.where));
      findings.back().notes.push_back({"the first", first->second->where});
    }
    return findings;
  }

  /// The listed packages that are not installed yet. Their later files, such as directories, are not missing for good.
  Result<Value> exports(const Value& section, const NodeReader& node) const override {
    if (items_of(section).empty() || !node.live()) return Value();
    SPARK_TRY(const DpkgStatus status, DpkgStatus::read(node));
    Value::List missing;
    for (const Value& item : items_of(section)) {
      const KnownPackage* package = status.find(wish_of(item).name);
      if (package == nullptr || !package->installed()) missing.emplace_back(wish_of(item).name);
    }
    return Value::map({{kMissing, std::move(missing)}});
  }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const std::set<std::string> asked(request.names.begin(), request.names.end());
    const auto status = node.live() ? DpkgStatus::read(node) : DpkgStatus();
    for (const std::string& name : request.names) {
      Observation& resource = observed.resources[name];
      if (!node.live()) {
        resource = not_in_a_tree();
      } else if (!status) {
        resource = status.error();
      } else {
        const KnownPackage* package = status->find(name);
        resource = resource_of(package, asked);
        observed.artifacts[package_artifact(name)] = artifact_of(kPackageKind, package);
        observed.artifacts[version_artifact(name)] = artifact_of(kVersionKind, package);
      }
    }
    return observed;
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::map<std::string, std::string> wanted;
    for (const Resource& resource : input.target) {
      wanted[resource.id.name] = resource.desired.text_or(kVersion, "");
    }
    std::vector<Step> steps;
    std::vector<std::string> unwanted;
    for (const Change& change : input.changes) {
      const auto found = wanted.find(change.id.name);
      if (found == wanted.end()) {
        unwanted.push_back(change.id.name);
        continue;
      }
      const bool any_version = found->second.empty();
      const ArtifactId artifact = any_version ? package_artifact(change.id.name) : version_artifact(change.id.name);
      add_step(artifact, any_version ? asked_for() : of_version(found->second), input, steps);
    }
    for (const std::string& name : dependents_first(unwanted, needs_in(input.observed))) {
      add_removal(name, input, steps);
    }
    return steps;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    if (!node.live()) return not_in_a_tree();
    const auto status = DpkgStatus::read(node);
    return status ? artifact_of(artifact.kind, status->find(artifact.name)) : Observation(status.error());
  }

  /// apt has installed it for another package of the run. The run then marks it as manual, as for any wanted package.
  bool may_follow_from_other_steps(const Observation& before, const Observation& now) const override {
    return std::holds_alternative<Absent>(before) && is_automatic(now);
  }

  std::vector<Ineffective> foresee(const ChangesAhead& ahead, const NodeReader& node) const override {
    return packages_without_source(ahead, node);
  }

  std::vector<Objection> prepare(std::span<const Step> steps, Node& node) const override {
    std::set<std::string> removed;
    for (const Step& step : steps) {
      if (std::holds_alternative<Absent>(step.after)) removed.insert(step.artifact.name);
    }
    std::vector<Objection> objections;
    Preparation preparation(node);
    for (const Step& step : steps) {
      auto error = std::holds_alternative<Absent>(step.after)
                       ? preparation.objection_to_removal(step.artifact.name, removed)
                       : preparation.objection_to_install(step);
      if (error) objections.push_back({step.artifact, *std::move(error)});
    }
    return objections;
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    if (std::holds_alternative<Absent>(after)) return take_away(artifact, node);
    if (is_automatic(after) && is_there(artifact, after, node)) return mark_automatic(artifact.name, node);
    if (auto installed = install(specification(artifact, after), node); !installed) {
      return failure(without_remains(artifact, std::move(installed).error(), node));
    }
    if (is_automatic(after)) SPARK_CHECK(mark_automatic(artifact.name, node));
    if (same_state(read_artifact(artifact, node), after)) return {};
    return failure(ErrorCode::kVerifyFailed, "apt reports success, but dpkg does not show " +
                                                 specification(artifact, after) + " in the desired state");
  }

 private:
  /// True if the package is installed, in the version of `after`, manually or automatically.
  static bool is_there(const ArtifactId& artifact, const Observation& after, const NodeReader& node) {
    const auto status = DpkgStatus::read(node);
    const KnownPackage* package = status ? status->find(artifact.name) : nullptr;
    if (package == nullptr || !package->installed()) return false;
    return version_in(after).empty() || version_in(after) == package->version;
  }

  /// Removes a half-configured package: it blocks all other work of apt, and it is observed as Absent.
  static Error without_remains(const ArtifactId& artifact, Error error, Node& node) {
    const auto status = DpkgStatus::read(node);
    const KnownPackage* package = status ? status->find(artifact.name) : nullptr;
    if (package == nullptr || !package->broken()) return error;
    if (const auto removed = take_away(artifact, node); !removed) {
      error.message += "; and its remains could not be removed: " + removed.error().describe();
    }
    return error;
  }

  /// A package that others need stays, marked as automatic.
  static Result<void> take_away(const ArtifactId& artifact, Node& node) {
    SPARK_TRY(const DpkgStatus status, DpkgStatus::read(node));
    const KnownPackage* package = status.find(artifact.name);
    if (package == nullptr) return {};
    if (!package->broken() && std::holds_alternative<Absent>(artifact_of(artifact.kind, package))) return {};
    SPARK_TRY(const Simulation simulation, simulate_removal(artifact.name, node));
    const bool needed = std::any_of(simulation.removes.begin(), simulation.removes.end(),
                                    [&](const std::string& name) { return name != status.name_to_apt(artifact.name); });
    return needed ? mark_automatic(artifact.name, node) : remove(artifact.name, node);
  }

  static std::map<std::string, std::set<std::string>> needs_in(const ObservedType& observed) {
    std::map<std::string, std::set<std::string>> needs;
    for (const auto& [name, resource] : observed.resources) {
      for (std::string& one : texts_in(present_value(resource).find(kNeeds))) needs[name].insert(std::move(one));
    }
    return needs;
  }

  /// A package that sparkplan installed is removed. An earlier package gets its earlier state back.
  void add_removal(const std::string& name, const StepsInput& input, std::vector<Step>& steps) const {
    for (const ArtifactId& artifact : {package_artifact(name), version_artifact(name)}) {
      const Observation* original = input.original(artifact);
      if (original != nullptr) return add_step(artifact, *original, input, steps);
    }
  }

  void add_step(const ArtifactId& artifact, Observation after, const StepsInput& input,
                std::vector<Step>& steps) const {
    const ResourceId id{info_.name, artifact.name};
    auto step = own_step(artifact, std::move(after), id, input, info_);
    if (!step) return;
    step->group = id.str();
    steps.push_back(*std::move(step));
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<PackageType>(); }

}  // namespace sparkplan::package
