#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/core/ids.h"
#include "engine/model/fields.h"
#include "engine/model/resource.h"

namespace sparkplan {

/// What a roster may hold at most: it comes from a node.
inline constexpr std::size_t kMostMembers = 2048;
inline constexpr std::int64_t kLargestGeneration = std::int64_t{1} << 53;
inline constexpr std::size_t kLongestRosterText = 255;
inline constexpr std::size_t kLongestRosterPath = 4096;

/// One member of the cluster as it was at the last successful apply.
struct RosterEntry {
  std::string name;
  int id = 0;
  std::string address;
  std::string user;
  std::uint16_t port = 22;
  std::string host_key;    ///< "SHA256:..."; empty for a local node.
  std::string machine_id;  ///< Tells a renamed machine from a new one of the same id.
  std::string jump;        ///< As SshSettings::jump.
  std::string become;      ///< "sudo" or "none".
  std::string root;        ///< For a local node: its directory; empty for SSH.
  bool leaving = false;    ///< No longer in the file, to be released with consent, not yet released.

  bool operator==(const RosterEntry&) const = default;
};

/// Who belongs to the cluster. Written to every node, so that no state lives on a controller.
struct Roster {
  std::string cluster;          ///< name
  std::string uuid;             ///< Made at the very first apply; empty before.
  std::int64_t generation = 0;  ///< Grows by one with every apply that changes the roster.
  std::vector<RosterEntry> members;

  bool operator==(const Roster&) const = default;
};

/// A resource that sparkplan has applied on this node.
struct ManagedResource {
  Value last_applied;                 ///< The desired value at that time.
  std::vector<ArtifactId> artifacts;  ///< What it lives in.
};

/// An artifact that sparkplan has written on this node.
struct ManagedArtifact {
  std::string type;                  ///< The resource type that owns it.
  std::string written_digest;        ///< digest() of what we last wrote; empty before the first write.
  Observation original = Absent{};   ///< As it was before sparkplan came; never an Error.
  std::string intended_digest = {};  ///< digest() of what a run set out to write without telling the outcome yet.

  /// Is that what sparkplan has written, or what a run that broke off may have?
  bool wrote(const std::string& digest) const { return digest == written_digest || digest == intended_digest; }
};

/// A saved plan of which something was carried out on this node.
struct AppliedPlan {
  std::string plan;       ///< Its id.
  std::string run;        ///< The run that carried it out.
  std::string time;       ///< When that began. RFC 3339, UTC.
  bool finished = false;  ///< The run came to its end.

  bool operator==(const AppliedPlan&) const = default;
};

/// How many a manifest remembers: as many as there are journals.
inline constexpr std::size_t kRememberedPlans = 50;

/// What sparkplan owns on a node: /var/lib/sparkplan/manifest.json.
struct Manifest {
  std::string node;
  Roster roster;
  std::map<ResourceId, ManagedResource> resources;
  std::map<ArtifactId, ManagedArtifact> artifacts;
  std::string last_run;                    ///< Id of the last run that wrote here.
  std::string last_run_time;               ///< RFC 3339, UTC.
  std::vector<AppliedPlan> applied_plans;  ///< Oldest first, at most kRememberedPlans: none is applied twice.
};

/// The names of what it manages, by type; no names for a type that only has an artifact left, as a run leaves
/// it that broke off.
std::map<std::string, std::vector<std::string>> names_managed(const Manifest& manifest);

/// The format that this build writes. A manifest of a newer one is refused, with the version named.
inline constexpr std::int64_t kManifestFormatVersion = 1;

/// Refused are a roster over the limits above, names that are no node's and texts with control characters.
void list_fields(FieldVisitor& field, RosterEntry& member);
void list_fields(FieldVisitor& field, Roster& roster);
void list_fields(FieldVisitor& field, ManagedResource& resource);
void list_fields(FieldVisitor& field, ManagedArtifact& artifact);
void list_fields(FieldVisitor& field, AppliedPlan& applied);
void list_fields(FieldVisitor& field, Manifest& manifest);

/// A manifest by itself. Errors: kUnsupported for a newer format_version; kInvalidInput.
Result<Manifest> decode_manifest(const Value& value);

}  // namespace sparkplan
