#include "engine/model/manifest.h"

#include <algorithm>
#include <string_view>
#include <tuple>

#include "engine/core/ids.h"
#include "engine/core/keyed_digest.h"

namespace sparkplan {
namespace {

/// A text that is printed and compared, no longer than a name, an address or a path can be.
constexpr FieldRule kRosterText{.is_printable = true, .longest = kLongestRosterText};
constexpr FieldRule kRosterPath{.is_printable = true, .longest = kLongestRosterPath};
/// A run, the digest of a plan, or a time. All of them are shorter.
constexpr FieldRule kMark = kOptional.no_longer_than(kLongestShortText);
/// A newer version may remember more than kRememberedPlans.
constexpr std::size_t kMostAppliedPlans = 1024;

bool has_a_place(const RosterEntry& member) { return !member.address.empty() || !member.root.empty(); }

bool may_be_one_machine(const RosterEntry& a, const RosterEntry& b) {
  const bool same_place = has_a_place(a) && std::tie(a.name, a.address, a.port, a.jump, a.root) ==
                                                std::tie(b.name, b.address, b.port, b.jump, b.root);
  return same_place && (a.host_key.empty() || b.host_key.empty() || a.host_key == b.host_key);
}

/// The first member of a name counts. False if `part` is empty.
bool lists_all_of(const Roster& part, const Roster& whole) {
  std::map<std::string_view, const RosterEntry*> by_name;
  for (const RosterEntry& member : whole.members) by_name.emplace(member.name, &member);
  return !part.members.empty() && std::ranges::all_of(part.members, [&](const RosterEntry& member) {
    const auto found = by_name.find(member.name);
    return found != by_name.end() && may_be_one_machine(member, *found->second);
  });
}

}  // namespace

bool is_one_cluster(const Roster& a, const Roster& b) {
  if (a.uuid == b.uuid) return true;
  return a.cluster == b.cluster && (lists_all_of(a, b) || lists_all_of(b, a));
}

std::map<std::string, std::vector<std::string>> names_managed(const Manifest& manifest) {
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& [id, managed] : manifest.resources) {
    if (id.name != kWholeFileName) names[id.type].push_back(id.name);
  }
  for (const auto& [id, artifact] : manifest.artifacts) names[artifact.type];
  return names;
}

std::map<std::string, std::vector<std::string>> secret_names(const Manifest& manifest) {
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& [id, resource] : manifest.resources) {
    if (holds_secret(resource.last_applied)) names[id.type].push_back(id.name);
  }
  return names;
}

void list_fields(FieldVisitor& field, RosterEntry& member) {
  FieldRule required_text = kRosterText;
  required_text.required = true;
  field("name", member.name, required_text);
  field.check("name", !field.reading() || NodeName::parse(member.name), "expected the name of a node");
  field("id", member.id, kRequired);
  field("address", member.address, kRosterText);
  field("user", member.user, kRosterText);
  field("port", member.port);
  field("host_key", member.host_key, kRosterText);
  field("machine_id", member.machine_id, kRosterText);
  field("jump", member.jump, kRosterText);
  field("become", member.become, kRosterText);
  field("root", member.root, kRosterPath);
  field("leaving", member.leaving);
}

void list_fields(FieldVisitor& field, Roster& roster) {
  field("cluster", roster.cluster, kRosterText);
  field("uuid", roster.uuid, kRosterText);
  field("generation", roster.generation, kOptional.within(0, kLargestGeneration));
  field("members", roster.members, kOptional.at_most(kMostMembers));
}

void list_fields(FieldVisitor& field, ManagedResource& resource) {
  field("last_applied", resource.last_applied, kRequired);
  field("artifacts", resource.artifacts, kOptional.at_most(kMostResources));
}

void list_fields(FieldVisitor& field, ManagedArtifact& artifact) {
  field("type", artifact.type, kRequired);
  field("written_digest", artifact.written_digest);
  // Required: a lost original would be read as "was absent", and the release would delete a foreign file.
  field("original", artifact.original, kRequired);
  field.check("original", !std::holds_alternative<Error>(artifact.original), "an error is not an original");
  field("intended_digest", artifact.intended_digest, kOptional.unless(artifact.intended_digest.empty()));
}

void list_fields(FieldVisitor& field, AppliedPlan& applied) {
  field("plan", applied.plan, kRequired.no_longer_than(kLongestShortText));
  field("run", applied.run, kMark);
  field("time", applied.time, kMark);
  field("finished", applied.finished);
}

void list_fields(FieldVisitor& field, Manifest& manifest) {
  auto version = kManifestFormatVersion;
  field("format_version", version, kRequired.within(1, std::numeric_limits<std::int64_t>::max()));
  if (version > kManifestFormatVersion) {
    field.fail({ErrorCode::kUnsupported,
                "the manifest has format " + std::to_string(version) + ", this sparkplan knows up to " +
                    std::to_string(kManifestFormatVersion),
                {},
                std::nullopt,
                "use the sparkplan that wrote it, or a newer one"});
  }
  field("node", manifest.node, kRosterText);
  field("roster", manifest.roster);
  field("resources", manifest.resources, kOptional.at_most(kMostResources));
  field("artifacts", manifest.artifacts, kOptional.at_most(kMostResources));
  field("last_run", manifest.last_run, kMark);
  field("last_run_time", manifest.last_run_time, kMark);
  field("applied_plans", manifest.applied_plans,
        kOptional.unless(manifest.applied_plans.empty()).at_most(kMostAppliedPlans));
}

Result<Manifest> decode_manifest(const Value& value) {
  auto manifest = decode<Manifest>(value);
  if (manifest || manifest.error().code == ErrorCode::kUnsupported) return manifest;
  return failure(std::move(manifest).error().within("manifest"));
}

}  // namespace sparkplan
