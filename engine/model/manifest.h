#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "engine/core/ids.h"
#include "engine/model/fields.h"
#include "engine/model/resource.h"

namespace sparkplan {

/// The most members of a roster. It is bounded because a node sends it.
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
  std::string machine_id;  ///< Distinguishes a renamed machine from a new one with the same id.
  std::string jump;        ///< As SshSettings::jump.
  std::string become;      ///< "sudo" or "none".
  std::string root;        ///< For a local node: its directory; empty for SSH.
  bool leaving = false;    ///< No longer in the file. The user has consented to its release, which is not done yet.

  bool operator==(const RosterEntry&) const = default;
};

/// The members of the cluster. Written to every node, so that no controller has to keep state.
struct Roster {
  std::string cluster;          ///< name
  std::string uuid;             ///< Made at the first apply; empty before.
  std::int64_t generation = 0;  ///< Increased by one with every apply that changes the roster.
  std::vector<RosterEntry> members;

  bool operator==(const Roster&) const = default;
};

/// Pure. True if the uuids are equal. Also true if the names are equal and one roster lists every member of the other,
/// at the same place and with no other host key: then an apply that read none of the members has begun the cluster
/// again.
bool is_one_cluster(const Roster& a, const Roster& b);

/// A resource that sparkplan has applied on this node.
struct ManagedResource {
  Value last_applied;                 ///< The desired value at that time.
  std::vector<ArtifactId> artifacts;  ///< The artifacts that hold it.
};

/// An artifact that sparkplan has written on this node.
struct ManagedArtifact {
  std::string type;                  ///< The resource type that owns it.
  std::string written_digest;        ///< digest() of the content that sparkplan last wrote; empty before the first
                                     ///< write.
  Observation original = Absent{};   ///< The state before sparkplan managed it; never an Error.
  std::string intended_digest = {};  ///< digest() of the content that a run intended to write, while its outcome is not
                                     ///< recorded.

  /// True for content that sparkplan has written, or that an interrupted run may have written.
  bool wrote(const std::string& digest) const { return digest == written_digest || digest == intended_digest; }
};

/// A saved plan that was carried out, at least in part, on this node.
struct AppliedPlan {
  std::string plan;       ///< Its id.
  std::string run;        ///< The run that carried it out.
  std::string time;       ///< The beginning of that run. RFC 3339, UTC.
  bool finished = false;  ///< The run reached its end.

  bool operator==(const AppliedPlan&) const = default;
};

/// The number of plans that a manifest remembers: the same as the number of journals.
inline constexpr std::size_t kRememberedPlans = 50;

/// The resources and artifacts that sparkplan owns on a node: /var/lib/sparkplan/manifest.json.
struct Manifest {
  std::string node;
  Roster roster;
  std::map<ResourceId, ManagedResource> resources;
  std::map<ArtifactId, ManagedArtifact> artifacts;
  std::string last_run;                    ///< Id of the last run that wrote to this node.
  std::string last_run_time;               ///< RFC 3339, UTC.
  std::vector<AppliedPlan> applied_plans;  ///< Oldest first, at most kRememberedPlans. So no saved plan is applied
                                           ///< twice.
};

/// The names of the managed resources, by type. A type without names has only an artifact left, from an interrupted
/// run.
std::map<std::string, std::vector<std::string>> names_managed(const Manifest& manifest);
/// The names of names_managed() whose last applied value holds a secret.
std::map<std::string, std::vector<std::string>> secret_names(const Manifest& manifest);

/// The format that this build writes. A newer manifest is refused; the error names its version.
inline constexpr std::int64_t kManifestFormatVersion = 1;

/// Refused are rosters over the limits above, invalid node names, and texts with control characters.
void list_fields(FieldVisitor& field, RosterEntry& member);
void list_fields(FieldVisitor& field, Roster& roster);
void list_fields(FieldVisitor& field, ManagedResource& resource);
void list_fields(FieldVisitor& field, ManagedArtifact& artifact);
void list_fields(FieldVisitor& field, AppliedPlan& applied);
void list_fields(FieldVisitor& field, Manifest& manifest);

/// Decodes a manifest alone. Errors: kUnsupported for a newer format_version; kInvalidInput.
Result<Manifest> decode_manifest(const Value& value);

}  // namespace sparkplan
