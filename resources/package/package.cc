#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "engine/core/diagnostic.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"
#include "resources/package/apt.h"
#include "resources/package/artifacts.h"
#include "resources/package/dpkg_status.h"

/// Installed Debian packages, and those that no upgrade may change: `packages: [nvme-cli, {name: perftest, hold:
/// true}]`.
namespace sparkplan::package {
namespace {

constexpr const char* kState = "state";
/// The requested packages that this package needs: observed, never desired.
constexpr const char* kNeeds = "needs";
constexpr const char* kMissing = "missing";
constexpr const char* kName = "name";
constexpr const char* kHold = "hold";
/// The resource of a hold is "nvme-cli/hold", beside "nvme-cli". No package name has a slash.
constexpr std::string_view kHoldSuffix = "/hold";

/// "nvme-cli=2.3-1" -> "nvme-cli", "2.3-1"
struct Wish {
  std::string name;
  std::string version;  ///< Empty: any.
  bool hold = false;
};
Wish wish_of(const Value& item) {
  const std::string text = item.string() != nullptr ? *item.string() : item.text_or(kName, "");
  const bool hold = item.boolean_or(kHold, false);
  const auto equals = text.find('=');
  if (equals == std::string::npos) return {text, {}, hold};
  return {text.substr(0, equals), text.substr(equals + 1), hold};
}

bool is_hold(std::string_view resource) { return resource.ends_with(kHoldSuffix); }
/// The package that a resource is about.
std::string package_of(const std::string& resource) {
  return is_hold(resource) ? resource.substr(0, resource.size() - kHoldSuffix.size()) : resource;
}

Observation resource_of(const KnownPackage* package, const std::set<std::string>& asked) {
  if (package == nullptr || !package->installed()) return Absent{};
  Value::List needs;
  for (const std::string& name : asked) {
    if (package->needs.contains(name)) needs.emplace_back(name);
  }
  return Present{Value::map({{kNeeds, std::move(needs)}, {kState, kInstalled}, {kVersion, package->version}}), {}};
}

Observation hold_of(const KnownPackage* package) {
  if (package == nullptr || !package->installed() || !package->held) return Absent{};
  return Present{Value::map({{kHold, true}}), {}};
}

NotApplicable not_in_a_tree() { return {"packages are installed on running nodes only"}; }

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
    info_.reported.resource =
        Shape::map({{kHold, Shape::boolean()}, {kNeeds, Shape::texts()}, {kState, word}, {kVersion, word}});
    info_.reported.longest_name = kLongestWordName;
    info_.reported.artifacts = {
        {std::string(kPackageKind), Shape::map({{kInstalled, Shape::boolean()}, {kAutomatic, Shape::boolean()}})},
        {std::string(kVersionKind), Shape::map({{kVersion, word}, {kAutomatic, Shape::boolean()}})},
        {std::string(kHeldVersionKind), Shape::map({{kVersion, word}, {kAutomatic, Shape::boolean()}})},
        {std::string(kHoldKind), Shape::map({{kHeld, Shape::boolean()}})}};
    info_.reported.exported = Shape::map({{kMissing, Shape::texts()}});
  }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    for (const Value& item : items_of(section)) {
      const Wish wish = wish_of(item);
      Value wanted = Value::map({{kState, kInstalled}});
      if (!wish.version.empty()) wanted.set(kVersion, wish.version);
      result.resources.push_back(make_resource(wish.name, std::move(wanted), item.where));
      if (!wish.hold) continue;
      std::string name = wish.name + std::string(kHoldSuffix);
      result.resources.push_back(make_resource(std::move(name), Value::map({{kHold, true}}), place_of(item, kHold)));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
                                    const Facts& /*own*/) const override {
    Value section = Value::list();
    for (const auto& [name, value] : applied) {
      if (is_hold(name)) continue;
      const std::string version = value.text_or(kVersion, "");
      const std::string item = version.empty() ? name : name + "=" + version;
      const bool hold = applied.contains(name + std::string(kHoldSuffix));
      section.push_back(hold ? Value::map({{kName, item}, {kHold, true}}) : Value(item));
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
        const std::string about = package_of(name);
        const KnownPackage* package = status->find(about);
        resource = is_hold(name) ? hold_of(package) : resource_of(package, asked);
        for (const ArtifactId& artifact :
             {package_artifact(about), version_artifact(about), held_version_artifact(about), hold_artifact(about)}) {
          observed.artifacts[artifact] = artifact_of(artifact.kind, package);
        }
      }
    }
    return observed;
  }

  /// A hold keeps apt from changing the package. So it ends before a removal, and begins after an installation.
  std::vector<Step> steps(const StepsInput& input) const override {
    std::vector<Step> steps;
    std::vector<Step> holds;
    std::vector<std::string> unwanted;
    for (const Change& change : input.changes) {
      const Resource* wanted = input.target_of(change.id);
      const std::string name = package_of(change.id.name);
      if (is_hold(change.id.name)) {
        const auto after = wanted != nullptr ? std::optional(on_hold()) : std::nullopt;
        add_step(hold_artifact(name), after, change.id, input, wanted != nullptr ? holds : steps);
      } else if (wanted == nullptr) {
        unwanted.push_back(name);
      }
    }
    for (const Change& change : input.changes) {
      const Resource* wanted = input.target_of(change.id);
      if (wanted == nullptr || is_hold(change.id.name)) continue;
      const std::string version = wanted->desired.text_or(kVersion, "");
      const auto after = version.empty() ? asked_for() : of_version(version);
      add_step(wanted_artifact(change.id, version, input), after, change.id, input, steps);
    }
    for (const std::string& name : dependents_first(unwanted, needs_in(input.observed))) {
      add_removal(name, input, steps);
    }
    std::move(holds.begin(), holds.end(), std::back_inserter(steps));
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

  std::vector<Objection> prepare(std::span<const Step> steps, const ChangesAhead& /*ahead*/,
                                 Node& node) const override {
    return objections_to(steps, node);
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    if (artifact.kind == kHoldKind) return hold(artifact, std::holds_alternative<Present>(after), node);
    if (std::holds_alternative<Absent>(after)) return take_away(artifact, node);
    if (is_automatic(after) && is_there(artifact, after, node)) return mark_automatic(artifact.name, node);
    const bool was_held = is_held(artifact.name, node);
    if (auto installed = install(specification(artifact, after), held_by(artifact), node); !installed) {
      return failure(without_remains(artifact, std::move(installed).error(), node));
    }
    // Some versions of apt end the hold of a package whose version they change.
    if (was_held && !is_held(artifact.name, node)) SPARK_CHECK(mark_held(artifact.name, true, node));
    if (is_automatic(after)) SPARK_CHECK(mark_automatic(artifact.name, node));
    if (same_state(read_artifact(artifact, node), after)) return {};
    return failure(ErrorCode::kVerifyFailed, "apt reports success, but dpkg does not show " +
                                                 specification(artifact, after) + " in the desired state");
  }

 private:
  static ArtifactId wanted_artifact(const ResourceId& id, const std::string& version, const StepsInput& input) {
    if (version.empty()) return package_artifact(id.name);
    const bool held = input.target_of({id.type, id.name + std::string(kHoldSuffix)}) != nullptr;
    return held ? held_version_artifact(id.name) : version_artifact(id.name);
  }

  /// A package that is gone needs no end of its hold.
  Result<void> hold(const ArtifactId& artifact, bool wanted, Node& node) const {
    SPARK_TRY(const DpkgStatus status, DpkgStatus::read(node));
    const KnownPackage* package = status.find(artifact.name);
    const bool there = package != nullptr && package->installed();
    if (!there && !wanted) return {};
    if (!there) return failure(ErrorCode::kNotFound, artifact.name + " is not installed, so it cannot be held");
    if (package->held != wanted) SPARK_CHECK(mark_held(artifact.name, wanted, node));
    const bool held = std::holds_alternative<Present>(read_artifact(artifact, node));
    if (held == wanted) return {};
    return failure(ErrorCode::kVerifyFailed, "apt-mark reports success, but dpkg shows " + artifact.name +
                                                 (wanted ? " without" : " with") + " a hold");
  }

  static bool is_held(const std::string& name, const NodeReader& node) {
    const auto status = DpkgStatus::read(node);
    const KnownPackage* package = status ? status->find(name) : nullptr;
    return package != nullptr && package->held;
  }

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
    const bool needed = std::ranges::any_of(
        simulation.removes, [&](const std::string& name) { return name != status.name_to_apt(artifact.name); });
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
    for (const ArtifactId& artifact : {package_artifact(name), version_artifact(name), held_version_artifact(name)}) {
      const Observation* original = input.original(artifact);
      if (original != nullptr) return add_step(artifact, *original, {info_.name, name}, input, steps);
    }
  }

  /// Without `after`, the artifact gets its state from before sparkplan.
  void add_step(const ArtifactId& artifact, std::optional<Observation> after, const ResourceId& id,
                const StepsInput& input, std::vector<Step>& steps) const {
    auto step = own_step(artifact, std::move(after), id, input, info_);
    if (!step) return;
    step->group = id.str();
    steps.push_back(*std::move(step));
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<PackageType>(); }

}  // namespace sparkplan::package
