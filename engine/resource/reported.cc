#include "engine/resource/reported.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "engine/core/digest.h"
#include "engine/core/text.h"
#include "engine/resource/artifact.h"

namespace sparkplan {
namespace {

constexpr std::size_t kMostShownNameBytes = 120;
constexpr std::size_t kMostNotApplicable = 256;
constexpr std::int64_t kLargestOwner = 0xFFFFFFFF;
constexpr std::size_t kMostModeBytes = 8;
/// A claim's message quotes a foreign file, which is read up to 1 MiB.
constexpr std::size_t kMostClaimBytes = std::size_t{2} << 20;
constexpr std::size_t kMostClaimsOfAResource = 20;

Error invalid(std::string why) { return make_error(ErrorCode::kInvalidInput, std::move(why)); }

std::string shown(std::string_view name) {
  return name.size() <= kMostShownNameBytes ? printable(name) : printable(name.substr(0, kMostShownNameBytes)) + "...";
}

Result<void> within(const std::string& level, Result<void> checked) {
  if (checked) return checked;
  return failure(std::move(checked).error().within(level));
}

Result<void> check_count(std::string_view what, std::size_t found, std::size_t most) {
  if (found <= most) return {};
  return failure(
      invalid(std::to_string(found) + " " + std::string(what) + ", more than the limit of " + std::to_string(most)));
}

Result<void> check_name(std::string_view name) { return check_shape(Value(name), Shape::line(kLongestName)); }

/// The bound of its type, and of any name; `type` is null for a type that this build does not know.
Result<void> check_resource_name(const ResourceId& id, const ResourceType* type) {
  SPARK_CHECK(check_name(id.str()));
  if (type == nullptr) return {};
  return check_count("bytes of a name", id.name.size(), type->info().reported.longest_name);
}

const Shape& anything() {
  static const Shape kAnything = Shape::anything();
  return kAnything;
}

/// A file or a marked block, as encode(FileContent) and block_present() produce them.
const Shape& text_artifact() {
  static const Shape kText = Shape::map({{"content", Shape::text(), true},
                                         {"mode", Shape::line(kMostModeBytes)},
                                         {"uid", Shape::integer(0, kLargestOwner)},
                                         {"gid", Shape::integer(0, kLargestOwner)}});
  return kText;
}

/// Only for Present: an Error or a reason is bounded where it is decoded.
Result<void> check_observation(const Observation& observation, const Shape& shape) {
  const auto* present = std::get_if<Present>(&observation);
  if (present == nullptr) return {};
  SPARK_CHECK(check_count("fields that are not applicable", present->not_applicable.size(), kMostNotApplicable));
  return check_shape(present->value, shape);
}

struct Managed {
  std::size_t resources = 0;
  std::size_t artifacts = 0;
};

Result<void> check_original(const ArtifactId& id, const ManagedArtifact& artifact, const Registry& registry) {
  SPARK_CHECK(check_name(artifact.type));
  const ResourceType* type = registry.find(artifact.type);
  if (type != nullptr) return check_artifact(id, artifact.original, *type);
  return check_observation(artifact.original, anything());
}

/// A node could otherwise have one claim counted as many, or push all else out of sight.
void drop_superfluous(std::vector<ForeignClaim>& claims) {
  std::set<std::tuple<std::string, std::string, std::string, std::string, std::string, bool>> known;
  std::map<std::string, std::size_t> of_resource;
  std::erase_if(claims, [&](const ForeignClaim& one) {
    const bool is_new =
        known.emplace(one.id.name, one.field, one.source, sha256(one.message), digest(one.value), one.harmless).second;
    return !is_new || ++of_resource[one.id.name] > kMostClaimsOfAResource;
  });
}

Result<void> check_claim(const ForeignClaim& claim) {
  SPARK_CHECK(check_count("bytes", claim.field.size(), kLongestName));
  SPARK_CHECK(check_count("bytes", claim.source.size() + claim.message.size(), kMostClaimBytes));
  return check_shape(claim.value, anything());
}

/// Checks a node's answer about one type; `names` are the requested ones.
Result<void> check_answer(const ResourceType& type, const std::vector<std::string>& names, ObservedType& found) {
  const std::string& name = type.info().name;
  const ReportedShapes& shapes = type.info().reported;
  const std::set<std::string> asked(names.begin(), names.end());
  std::erase_if(found.resources, [&](const auto& one) { return !asked.contains(one.first); });
  SPARK_CHECK(within(name, check_count("artifacts", found.artifacts.size(), shapes.most)));
  SPARK_CHECK(within(name, check_count("claims of other files", found.foreign.size(), shapes.most)));
  for (const auto& [resource, observation] : found.resources) {
    SPARK_CHECK(within("observed " + name + " " + shown(resource), check_observation(observation, shapes.resource)));
  }
  for (const auto& [id, observation] : found.artifacts) SPARK_CHECK(check_artifact(id, observation, type));
  std::erase_if(found.foreign,
                [&](const ForeignClaim& claim) { return claim.id.type != name || !asked.contains(claim.id.name); });
  for (const ForeignClaim& claim : found.foreign)
    SPARK_CHECK(within("another file's claim on " + name + " " + shown(claim.id.name), check_claim(claim)));
  drop_superfluous(found.foreign);
  return {};
}

}  // namespace

Result<void> check_artifact(const ArtifactId& id, const Observation& observation, const ResourceType& type) {
  const auto& info = type.info();
  const std::string level = "artifact " + shown(id.str()) + " of " + info.name;
  SPARK_CHECK(within(level, check_name(id.name)));
  if (is_text_artifact(id)) return within(level, check_observation(observation, text_artifact()));
  const auto& own = info.reported.artifacts;
  const auto kind = std::ranges::find(own, id.kind, &OwnArtifacts::kind);
  if (kind != own.end()) return within(level, check_observation(observation, kind->value));
  return within(level, failure(invalid("no artifact of this type")));
}

Result<void> check_observed(const std::map<std::string, std::vector<std::string>>& asked, const Registry& registry,
                            ObservedState& observed) {
  std::erase_if(observed.types,
                [&](const auto& one) { return !asked.contains(one.first) || registry.find(one.first) == nullptr; });
  for (auto& [name, found] : observed.types) SPARK_CHECK(check_answer(*registry.find(name), asked.at(name), found));
  return {};
}

Result<void> check_managed(const ResourceId& id, const Value& last_applied, const Registry& registry) {
  const std::string level = "last applied " + shown(id.str());
  const ResourceType* type = registry.find(id.type);
  SPARK_CHECK(within(level, check_resource_name(id, type)));
  return within(level, check_shape(last_applied, type == nullptr ? anything() : type->info().reported.resource));
}

Result<void> check_manifest(const Manifest& manifest, const Registry& registry) {
  SPARK_CHECK(within("manifest", check_count("resources", manifest.resources.size(), kMostManaged)));
  SPARK_CHECK(within("manifest", check_count("artifacts", manifest.artifacts.size(), kMostManaged)));
  std::map<std::string_view, Managed> managed;
  for (const auto& [id, resource] : manifest.resources) {
    SPARK_CHECK(check_managed(id, resource.last_applied, registry));
    SPARK_CHECK(within("manifest", check_count("artifacts of a resource", resource.artifacts.size(), kMostManaged)));
    ++managed[id.type].resources;
  }
  for (const auto& [id, artifact] : manifest.artifacts) {
    SPARK_CHECK(within("original from before sparkplan", check_original(id, artifact, registry)));
    ++managed[artifact.type].artifacts;
  }
  for (const auto& [name, count] : managed) {
    const ResourceType* type = registry.find(name);
    if (type == nullptr) continue;
    const std::string level = "manifest: " + type->info().name;
    SPARK_CHECK(within(level, check_count("resources", count.resources, type->info().reported.most)));
    SPARK_CHECK(within(level, check_count("artifacts", count.artifacts, type->info().reported.most)));
  }
  return {};
}

Result<void> check_exports(const std::set<std::string>& asked, const Registry& registry,
                           std::map<std::string, Value>& exports) {
  std::erase_if(exports, [&](const auto& one) {
    const ResourceType* type = registry.find(one.first);
    return !asked.contains(one.first) || type == nullptr || !type->info().reported.exported;
  });
  for (auto& [name, value] : exports) {
    value.erase(kOutdatedExport);
    SPARK_CHECK(within("exported " + name, check_shape(value, *registry.find(name)->info().reported.exported)));
  }
  return {};
}

Result<void> check_steps(std::span<const Step> steps, const Registry& registry) {
  SPARK_CHECK(check_count("steps", steps.size(), kMostManaged));
  for (const Step& step : steps) {
    const ResourceType* type = registry.find(step.type);
    if (type == nullptr) return failure(invalid("this build has no resource type " + shown(step.type)));
    for (const Observation* side : {&step.before, &step.after}) {
      if (std::holds_alternative<Error>(*side)) return failure(invalid("an error is not a valid state"));
      SPARK_CHECK(check_artifact(step.artifact, *side, *type));
    }
    for (const ResourceId& id : step.resources) {
      if (id.type != step.type) return failure(invalid("a step for a resource of another type: " + shown(id.str())));
      SPARK_CHECK(check_resource_name(id, type));
    }
  }
  return {};
}

}  // namespace sparkplan
