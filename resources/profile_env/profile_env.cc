#include "resources/profile_env/profile_env.h"

#include <utility>

#include "engine/resource/artifact.h"
#include "engine/resource/shell_environment.h"
#include "engine/resource/text_artifact_step.h"

namespace sparkplan::profile_env {
namespace {

constexpr std::uint32_t kFileMode = 0644;
constexpr const char* kField = "value";

class ProfileEnvType final : public ResourceType {
 public:
  explicit ProfileEnvType(std::string schema_json) {
    info_.name = "profile_env";
    info_.section = "profile_env";
    info_.phase = Phase::kFiles;
    info_.summary = "environment variables of login shells";
    info_.schema_json = std::move(schema_json);
    info_.impact_of_removal = Impact::kNeedsRelogin;
    info_.files = {std::string(kOwnFile)};
    info_.reported.resource = Shape::map({{kField, Shape::text()}});
  }

  const TypeInfo& info() const override { return info_; }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    if (section.entries() == nullptr) return result;
    for (const MapEntry& entry : *section.entries()) {
      if (entry.value.is_null() || !is_variable_name(entry.key)) continue;
      const Result<std::string> value = variable_value(entry.value);
      if (!value) continue;
      Resource resource;
      resource.id = {info_.name, entry.key};
      resource.desired = Value::map({{kField, *value}});
      resource.where = entry.value.where;
      resource.impact = Impact::kNeedsRelogin;
      result.resources.push_back(std::move(resource));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const std::map<std::string, Value>& applied,
                                    const Facts& /*own*/) const override {
    Value section = Value::map();
    for (const auto& [name, value] : applied) {
      const Value* text = value.find(kField);
      if (text == nullptr || text->string() == nullptr) return std::nullopt;
      section.set(name, *text);
    }
    return section;
  }

  std::vector<Diagnostic> validate(const Value& section) const override { return validate_section(section); }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const ArtifactId artifact = file_artifact(kOwnFile);
    const Observation& file = observed.artifacts[artifact] = sparkplan::read_artifact(artifact, *this, node);
    const Result<std::vector<ProfileFile>> later = profile_files_after(kOwnFile, node);
    std::map<std::string, std::optional<std::string>> ours;
    for (ShellAssignment& one : parse_shell_assignments(content_of(file).value_or("")))
      ours[one.name] = std::move(one.value);

    for (const std::string& name : request.names) {
      if (name == kWholeFileName) continue;
      Observation& result = observed.resources[name] = Absent{};
      if (const auto* error = std::get_if<Error>(&file)) {
        result = *error;
      } else if (!later) {
        result = later.error();
      } else {
        if (const auto set = ours.find(name); set != ours.end() && set->second) {
          result = Present{Value::map({{kField, *set->second}}), {}};
        }
        if (auto claim = foreign_claim(name, *later); claim && !same_value(*claim, result)) {
          observed.foreign.push_back(*std::move(claim));
        }
      }
    }
    return observed;
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::map<std::string, std::string> variables;
    for (const Resource& resource : input.target) {
      if (resource.desired.find(kField) != nullptr) {
        variables[resource.id.name] = resource.desired.text_or(kField, "");
      }
    }
    std::optional<std::string> content;
    if (!variables.empty()) content = render_file(variables);
    std::vector<Step> steps;
    if (auto step = text_artifact_step(file_artifact(kOwnFile), content, kFileMode, input, info_)) {
      steps.push_back(*std::move(step));
    }
    return steps;
  }

 private:
  /// A file that says what ours says defeats nothing.
  static bool same_value(const ForeignClaim& claim, const Observation& ours) {
    const auto* present = std::get_if<Present>(&ours);
    const Value* value = present == nullptr ? nullptr : present->value.find(kField);
    return value != nullptr && *value == claim.value;
  }

  std::optional<ForeignClaim> foreign_claim(const std::string& name, const std::vector<ProfileFile>& later) const {
    const std::optional<LaterAssignment> last = last_assignment(name, later);
    if (!last) return std::nullopt;
    return ForeignClaim{
        {info_.name, name}, kField, last->value ? Value(*last->value) : Value(), last->source, last->message};
  }

  TypeInfo info_;
};

}  // namespace

std::string render_file(const std::map<std::string, std::string>& variables) {
  std::string text = ownership_header();
  for (const auto& [name, value] : variables) text += "export " + name + "=" + shell_quote(value) + "\n";
  return text;
}

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json) {
  return std::make_unique<const ProfileEnvType>(std::move(schema_json));
}

}  // namespace sparkplan::profile_env
