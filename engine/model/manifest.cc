#include "engine/model/manifest.h"

#include "engine/core/ids.h"
#include "engine/core/text.h"
#include "engine/model/field_reader.h"

namespace sparkplan {
namespace {

/// A text that may be printed and compared, and no longer than a name, an address or a path can be.
std::string bounded_text(FieldReader& fields, std::string_view key, std::size_t longest = kLongestRosterText) {
  std::string text = fields.text(key);
  if (text.size() > longest) {
    fields.reject(key, "longer than " + std::to_string(longest) + " bytes");
  } else if (printable(text) != text) {
    fields.reject(key, "it has characters that are not printable");
  }
  return text;
}

Value encode_member(const RosterEntry& member) {
  return Value::map({{"name", member.name},
                     {"id", member.id},
                     {"address", member.address},
                     {"user", member.user},
                     {"port", static_cast<int>(member.port)},
                     {"host_key", member.host_key},
                     {"machine_id", member.machine_id},
                     {"jump", member.jump},
                     {"become", member.become},
                     {"root", member.root},
                     {"leaving", member.leaving}});
}

Value encode_artifact(const ManagedArtifact& artifact) {
  Value value = Value::map(
      {{"type", artifact.type}, {"written_digest", artifact.written_digest}, {"original", encode(artifact.original)}});
  if (!artifact.intended_digest.empty()) value.set("intended_digest", artifact.intended_digest);
  return value;
}

Result<RosterEntry> decode_member(const Value& value) {
  FieldReader fields(value);
  RosterEntry member;
  member.name = bounded_text(fields.require("name"), "name");
  if (!NodeName::parse(member.name)) fields.reject("name", "it is no name of a node");
  member.id = fields.require("id").integer("id", member.id);
  member.address = bounded_text(fields, "address");
  member.user = bounded_text(fields, "user");
  member.port = fields.integer("port", member.port);
  member.host_key = bounded_text(fields, "host_key");
  member.machine_id = bounded_text(fields, "machine_id");
  member.jump = bounded_text(fields, "jump");
  member.become = bounded_text(fields, "become");
  member.root = bounded_text(fields, "root", kLongestRosterPath);
  member.leaving = fields.boolean("leaving", member.leaving);
  SPARK_CHECK(std::move(fields).check());
  return member;
}

Value encode_applied(const AppliedPlan& applied) {
  return Value::map(
      {{"plan", applied.plan}, {"run", applied.run}, {"time", applied.time}, {"finished", applied.finished}});
}

Result<AppliedPlan> decode_applied(const Value& value) {
  FieldReader fields(value);
  AppliedPlan applied;
  applied.plan = fields.require("plan").text("plan");
  applied.run = fields.text("run");
  applied.time = fields.text("time");
  applied.finished = fields.boolean("finished", applied.finished);
  SPARK_CHECK(std::move(fields).check());
  return applied;
}

Result<ManagedArtifact> decode_artifact(const Value& value) {
  FieldReader fields(value);
  ManagedArtifact artifact;
  artifact.type = fields.require("type").text("type");
  artifact.written_digest = fields.text("written_digest");
  artifact.intended_digest = fields.text("intended_digest");
  // Required: taking a lost original for "was absent" would delete somebody's file at release.
  artifact.original = fields.require("original").object("original", artifact.original, decode_observation);
  if (std::holds_alternative<Error>(artifact.original)) fields.reject("original", "an error is no original");
  SPARK_CHECK(std::move(fields).check());
  return artifact;
}

Result<void> check_format(const Value& value) {
  const Value* version = value.find("format_version");
  const std::int64_t* number = version == nullptr ? nullptr : version->integer();
  if (number == nullptr || *number < 1) {
    return failure(FieldReader::invalid("expected a positive integer").within("format_version").within("manifest"));
  }
  if (*number > kManifestFormatVersion) {
    return failure(ErrorCode::kUnsupported,
                   "the manifest has format " + std::to_string(*number) + ", this sparkplan knows up to " +
                       std::to_string(kManifestFormatVersion),
                   "use the sparkplan that wrote it, or a newer one");
  }
  return {};
}

Result<Manifest> decode_fields(const Value& value) {
  FieldReader fields(value);
  Manifest manifest;
  manifest.node = bounded_text(fields, "node");
  manifest.roster = fields.object("roster", Roster{}, decode_roster);
  manifest.resources = fields.map<ResourceId, ManagedResource>("resources", ResourceId::parse, decode_managed_resource);
  manifest.artifacts = fields.map<ArtifactId, ManagedArtifact>("artifacts", ArtifactId::parse, decode_artifact);
  manifest.last_run = fields.text("last_run");
  manifest.last_run_time = fields.text("last_run_time");
  manifest.applied_plans = fields.list<AppliedPlan>("applied_plans", decode_applied);
  SPARK_CHECK(std::move(fields).check());
  return manifest;
}

}  // namespace

Value encode(const ManagedResource& resource) {
  return Value::map(
      {{"last_applied", resource.last_applied}, {"artifacts", encode_list(resource.artifacts, encode_id)}});
}

std::map<std::string, std::vector<std::string>> names_managed(const Manifest& manifest) {
  std::map<std::string, std::vector<std::string>> names;
  for (const auto& [id, managed] : manifest.resources) names[id.type].push_back(id.name);
  for (const auto& [id, artifact] : manifest.artifacts) names[artifact.type];
  return names;
}

Result<ManagedResource> decode_managed_resource(const Value& value) {
  FieldReader fields(value);
  ManagedResource resource;
  resource.last_applied = fields.require("last_applied").any("last_applied");
  resource.artifacts = fields.list<ArtifactId>("artifacts", decode_id<ArtifactId>);
  SPARK_CHECK(std::move(fields).check());
  return resource;
}

Value encode(const Manifest& manifest) {
  Value::Map resources;
  for (const auto& [id, resource] : manifest.resources) resources.push_back({id.str(), encode(resource), {}});
  Value::Map artifacts;
  for (const auto& [id, artifact] : manifest.artifacts) artifacts.push_back({id.str(), encode_artifact(artifact), {}});
  Value value = Value::map({{"format_version", kManifestFormatVersion},
                            {"node", manifest.node},
                            {"roster", encode(manifest.roster)},
                            {"resources", std::move(resources)},
                            {"artifacts", std::move(artifacts)},
                            {"last_run", manifest.last_run},
                            {"last_run_time", manifest.last_run_time}});
  if (!manifest.applied_plans.empty()) value.set("applied_plans", encode_list(manifest.applied_plans, encode_applied));
  return value;
}

Value encode(const Roster& roster) {
  return Value::map({{"cluster", roster.cluster},
                     {"uuid", roster.uuid},
                     {"generation", roster.generation},
                     {"members", encode_list(roster.members, encode_member)}});
}

Result<Manifest> decode_manifest(const Value& value) {
  if (!value.is_map()) return failure(FieldReader::wrong_kind("map", value).within("manifest"));
  SPARK_CHECK(check_format(value));
  auto manifest = decode_fields(value);
  if (!manifest) return failure(std::move(manifest).error().within("manifest"));
  return manifest;
}

Result<Roster> decode_roster(const Value& value) {
  FieldReader fields(value);
  Roster roster;
  roster.cluster = bounded_text(fields, "cluster");
  roster.uuid = bounded_text(fields, "uuid");
  roster.generation = fields.integer("generation", roster.generation);
  if (roster.generation < 0 || roster.generation > kLargestGeneration) fields.reject("generation", "out of range");
  const Value* members = value.find("members");
  const auto* items = members == nullptr ? nullptr : members->list_items();
  if (items != nullptr && items->size() > kMostMembers) {
    fields.reject("members", "more than " + std::to_string(kMostMembers));
  } else {
    roster.members = fields.list<RosterEntry>("members", decode_member);
  }
  SPARK_CHECK(std::move(fields).check());
  return roster;
}

}  // namespace sparkplan
