#pragma once

#include <string>
#include <string_view>

#include "resources/package/apt.h"
#include "resources/package/dpkg_status.h"

/// The artifacts of this type: packages of a declared or of any version, and holds.
namespace sparkplan::package {

inline constexpr const char* kInstalled = "installed";
inline constexpr const char* kAutomatic = "automatic";
inline constexpr const char* kVersion = "version";
inline constexpr const char* kHeld = "held";

/// An installed package of any version. `automatic` marks one that apt installed as a dependency.
inline constexpr std::string_view kPackageKind = "package";
/// As kPackageKind, for a package with a declared version.
inline constexpr std::string_view kVersionKind = "package_version";
/// As kVersionKind, for a package that is to be held in that version: the hold does not keep sparkplan from changing
/// it.
inline constexpr std::string_view kHeldVersionKind = "package_held_version";
/// `apt-mark hold`.
inline constexpr std::string_view kHoldKind = "package_hold";

/// By the name of the package; the kinds are those above.
ArtifactId package_artifact(const std::string& name);
ArtifactId version_artifact(const std::string& name);
ArtifactId held_version_artifact(const std::string& name);
ArtifactId hold_artifact(const std::string& name);
/// Whether apt may change held packages for this artifact.
Held held_by(const ArtifactId& artifact);

/// The wanted states.
Observation asked_for();
Observation on_hold();
Observation of_version(const std::string& version);

/// The state of an artifact of that kind. A package that apt installed as a dependency existed before it was requested,
/// so `automatic` keeps it from removal. `package`: null if dpkg does not list it.
Observation artifact_of(std::string_view kind, const KnownPackage* package);
bool is_automatic(const Observation& artifact);

/// The version in a state; empty: any.
std::string version_in(const Observation& artifact);
/// For apt-get: "nvme-cli", or "nvme-cli=2.3-1".
std::string specification(const ArtifactId& artifact, const Observation& after);

}  // namespace sparkplan::package
