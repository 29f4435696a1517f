#include "resources/profile_env/profile_env.h"

#include <utility>

#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/shell_environment.h"
#include "engine/resource/text_artifact_step.h"
#include "engine/resource/text_entries_type.h"

namespace sparkplan::profile_env {
namespace {

constexpr const char* kField = "value";

class ProfileEnvType final : public TextEntriesType {
 public:
  ProfileEnvType() : TextEntriesType(file_artifact(kOwnFile)) {
    info_.name = "profile_env";
    info_.section = "profile_env";
    info_.phase = Phase::kFiles;
    info_.summary = "environment variables of login shells";
    info_.impact_of_removal = Impact::kNeedsRelogin;
    info_.files = {std::string(kOwnFile)};
    info_.reported.resource = Shape::map({{kField, Shape::text()}});
  }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    for (const MapEntry& entry : entries_of(section)) {
      if (entry.value.is_null() || !is_variable_name(entry.key)) continue;
      const Result<std::string> value = variable_value(entry.value);
      if (!value) continue;
      result.resources.push_back(make_resource(entry.key, Value::map({{kField, *value}}), entry.value.where));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const std::map<std::string, Value>& applied,
                                    const Facts& /*own*/) const override {
    Value section = Value::map();
    for (const auto& [name, value] : applied) {
      const auto text = text_below(value, kField);
      if (!text) return std::nullopt;
      section.set(name, *text);
    }
    return section;
  }

  std::vector<Diagnostic> validate(const Value& section) const override { return validate_section(section); }

 protected:
  std::string render(const Entries& entries) const override {
    std::map<std::string, std::string> variables;
    for (const auto& [name, value] : entries) variables[name] = value.text_or(kField, "");
    return render_file(variables);
  }

  Entries parse(std::string_view text) const override {
    Entries entries;
    for (ShellAssignment& one : parse_shell_assignments(text)) {
      entries.erase(one.name);
      if (one.value) entries[one.name] = Value::map({{kField, *std::move(one.value)}});
    }
    return entries;
  }

  Result<std::vector<ForeignClaim>> claims(const std::vector<std::string>& names, const Entries& ours,
                                           const NodeReader& node) const override {
    SPARK_TRY(const std::vector<ConfigFile> later, profile_files_after(kOwnFile, node));
    std::vector<ForeignClaim> claims;
    for (const std::string& name : names) {
      const std::optional<LaterAssignment> last = last_assignment(name, later);
      if (!last) continue;
      // A file with the same value as ours overrides nothing.
      const auto own = ours.find(name);
      if (own != ours.end() && last->value && *last->value == own->second.text_or(kField, "")) continue;
      claims.push_back(
          {{info_.name, name}, kField, last->value ? Value(*last->value) : Value(), last->source, last->message});
    }
    return claims;
  }
};

}  // namespace

std::string render_file(const std::map<std::string, std::string>& variables) {
  std::string text = ownership_header();
  for (const auto& [name, value] : variables) text += "export " + name + "=" + shell_quote(value) + "\n";
  return text;
}

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<ProfileEnvType>(); }

}  // namespace sparkplan::profile_env
