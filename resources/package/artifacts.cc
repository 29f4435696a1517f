#include "resources/package/artifacts.h"

namespace sparkplan::package {
namespace {

bool has_version(std::string_view kind) { return kind == kVersionKind || kind == kHeldVersionKind; }

}  // namespace

ArtifactId package_artifact(const std::string& name) { return {std::string(kPackageKind), name}; }
ArtifactId version_artifact(const std::string& name) { return {std::string(kVersionKind), name}; }
ArtifactId held_version_artifact(const std::string& name) { return {std::string(kHeldVersionKind), name}; }
ArtifactId hold_artifact(const std::string& name) { return {std::string(kHoldKind), name}; }
Held held_by(const ArtifactId& artifact) { return artifact.kind == kHeldVersionKind ? Held::kMayChange : Held::kStay; }

Observation asked_for() { return Present{Value::map({{kInstalled, true}}), {}}; }
Observation on_hold() { return Present{Value::map({{kHeld, true}}), {}}; }
Observation of_version(const std::string& version) { return Present{Value::map({{kVersion, version}}), {}}; }

Observation artifact_of(std::string_view kind, const KnownPackage* package) {
  if (package == nullptr || !package->installed()) return Absent{};
  if (kind == kHoldKind) return package->held ? on_hold() : Observation(Absent{});
  Observation artifact = has_version(kind) ? of_version(package->version) : asked_for();
  if (package->automatic) std::get<Present>(artifact).value.set(kAutomatic, true);
  return artifact;
}

bool is_automatic(const Observation& artifact) { return present_value(artifact).boolean_or(kAutomatic, false); }

std::string version_in(const Observation& artifact) { return present_value(artifact).text_or(kVersion, ""); }

std::string specification(const ArtifactId& artifact, const Observation& after) {
  const std::string version = version_in(after);
  return version.empty() ? artifact.name : artifact.name + "=" + version;
}

}  // namespace sparkplan::package
