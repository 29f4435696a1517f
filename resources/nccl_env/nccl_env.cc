#include "resources/nccl_env/nccl_env.h"

#include <algorithm>
#include <utility>

#include "engine/core/text.h"
#include "engine/core/tree.h"
#include "engine/domain/ahead/provision.h"
#include "engine/resource/artifact.h"
#include "engine/resource/shell_environment.h"
#include "engine/resource/steps.h"

namespace sparkplan::nccl_env {
namespace {

constexpr std::uint32_t kMode = 0644;  ///< Of the profile file and of a new nccl.conf.

/// Everything that one observation reads.
struct Sight {
  Observation profile;
  Observation block;
  Result<std::string> conf = std::string();
  Result<std::vector<ConfigFile>> later = std::vector<ConfigFile>();
};

/// The error that makes a variable unreadable; null without one.
const Error* hidden_by(const Sight& sight, const std::string& name) {
  if (const auto* error = std::get_if<Error>(&sight.profile)) return error;
  if (!sight.later) return &sight.later.error();
  if (!is_read_from_conf(name)) return nullptr;
  if (const auto* error = std::get_if<Error>(&sight.block)) return error;
  return sight.conf ? nullptr : &sight.conf.error();
}

std::map<std::string, Setting> settings_in(const Sight& sight) {
  std::map<std::string, Setting> settings = parse_profile(content_of(sight.profile).value_or(""));
  for (ConfLine& line : parse_conf(content_of(sight.block).value_or(""))) {
    std::optional<std::string>& conf = settings[line.name].conf;
    if (!conf) conf = std::move(line.value);
  }
  return settings;
}

class NcclEnvType final : public ResourceType {
 public:
  NcclEnvType() {
    info_.name = "nccl_env";
    info_.section = "nccl";
    info_.phase = Phase::kFiles;
    info_.summary = "variables for NCCL, for itself and for login shells";
    info_.files = {std::string(kProfileFile), std::string(kConfFile) + " (marked block)"};
    info_.impact_of_removal = Impact::kNeedsRelogin;
    info_.foresees = true;
    const Shape in_file = Shape::text(kLargestTextFile);
    info_.reported.resource = Shape::map({{kConf, Shape::text()}, {kPrepended, in_file}, {kProfile, in_file}});
    info_.reported.longest_name = kLongestWordName;
  }

  Desired desired(const ClusterView& view, const Value& section, const Facts& own) const override {
    Desired result;
    WantedSettings wanted = wanted_settings(view, section, own);
    result.diagnostics = std::move(wanted.diagnostics);
    result.incomplete = wanted.incomplete;
    for (const auto& [name, variable] : wanted.variables) {
      result.resources.push_back(make_resource(name, encode(variable.setting), variable.where));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& view, const ValuesByName& applied,
                                    const Facts& own) const override {
    std::map<std::string, Setting> settings;
    for (const auto& [name, value] : applied) settings[name] = decode_setting(value);
    return section_that_gives(settings, view, own);
  }

  std::vector<Diagnostic> validate(const Value& section) const override { return validate_section(section); }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const ArtifactId profile = file_artifact(kProfileFile);
    const ArtifactId block = block_artifact(kConfFile);
    const Sight sight{sparkplan::read_artifact(profile, *this, node), sparkplan::read_artifact(block, *this, node),
                      file_with_block(kConfFile, node), profile_files_after(kProfileFile, node)};
    observed.artifacts[profile] = sight.profile;
    observed.artifacts[block] = sight.block;
    const std::map<std::string, Setting> settings = settings_in(sight);
    for (const std::string& name : request.names) {
      Observation& result = observed.resources[name] = Absent{};
      if (const Error* error = hidden_by(sight, name)) {
        result = *error;
        continue;
      }
      const auto found = settings.find(name);
      const Setting ours = found == settings.end() ? Setting{} : found->second;
      if (ours != Setting{}) result = Present{encode(ours), {}};
      add_foreign_claims(name, ours, sight, observed.foreign);
    }
    return observed;
  }

  /// The loader searches the directory for the library's soname, whatever the file in cluster.yaml is called.
  std::vector<Ineffective> foresee(const ChangesAhead& ahead, const NodeReader& node) const override {
    const auto wanted = ahead.find(info_.name);
    if (wanted == ahead.end()) return {};
    const auto path = wanted->second.find(std::string(kLibraryPath));
    if (path == wanted->second.end()) return {};
    const std::string directory = decode_setting(path->second).prepended.value_or("");
    const std::string library = directory + "/" + std::string(kLibraryName);
    if (directory.empty() || may_bring_file(ahead, library)) return {};
    const auto status = node.status(library);
    const bool missing = !status && status.error().code == ErrorCode::kNotFound;
    const bool no_file =
        status && status->kind != FileStatus::Kind::kRegular && status->kind != FileStatus::Kind::kSymlink;
    if (!missing && !no_file) return {};
    return {{std::string(kLibraryPath), "nccl_env.no-library",
             missing ? "there is no " + library + " on this node" : library + " is no file on this node",
             "install that NCCL there first: programs would load the system's NCCL, or none"}};
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::map<std::string, Setting> settings;
    for (const Resource& resource : input.target) settings[resource.id.name] = decode_setting(resource.desired);
    const std::vector<TextArtifact> artifacts{
        {file_artifact(kProfileFile), render_profile(settings), kMode, {}, changes_field({kProfile, kPrepended})},
        {block_artifact(kConfFile), render_conf(settings), kMode, {}, changes_field({kConf})}};
    std::vector<Step> steps;
    for (const TextArtifact& artifact : artifacts) append(steps, text_artifact_step(artifact, input, info_));
    return steps;
  }

 private:
  static std::function<bool(const Change&)> changes_field(std::vector<std::string_view> fields) {
    return [fields = std::move(fields)](const Change& change) {
      return std::ranges::any_of(change.fields, [&](const FieldChange& field) {
        return std::ranges::find(fields, field.path) != fields.end();
      });
    };
  }

  void add_foreign_claims(const std::string& name, const Setting& ours, const Sight& sight,
                          std::vector<ForeignClaim>& foreign) const {
    const ResourceId id{info_.name, name};
    if (const auto later = last_assignment(name, *sight.later)) {
      const Value value = later->value ? Value(*later->value) : Value();
      foreign.push_back({id, std::string(kProfile), value, later->source, later->message});
      if (name == kLibraryPath && !keeps(later->value, ours.prepended)) {
        foreign.push_back({id, std::string(kPrepended), value, later->source, later->message});
      }
    }
    if (!is_read_from_conf(name)) return;
    if (const auto line = set_above(*sight.conf, name)) {
      foreign.push_back({id, std::string(kConf), line->value,
                         std::string(kConfFile) + ":" + std::to_string(line->number),
                         "sets it to " + line->value + " and comes before our block"});
    }
  }

  /// True if a later search path still contains our directory.
  static bool keeps(const std::optional<std::string>& later, const std::optional<std::string>& directory) {
    if (!later || !directory) return false;
    const std::vector<std::string_view> parts = split(*later, ':');
    return std::ranges::find(parts, *directory) != parts.end();
  }
};

}  // namespace

Value encode(const Setting& setting) {
  Value value = Value::map();
  if (setting.conf) value.set(kConf, *setting.conf);
  if (setting.prepended) value.set(kPrepended, *setting.prepended);
  if (setting.profile) value.set(kProfile, *setting.profile);
  return value;
}

Setting decode_setting(const Value& value) {
  return {text_below(value, kProfile), text_below(value, kPrepended), text_below(value, kConf)};
}

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<NcclEnvType>(); }

}  // namespace sparkplan::nccl_env
