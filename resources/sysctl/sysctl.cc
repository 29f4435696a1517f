#include "resources/sysctl/sysctl.h"

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "engine/core/number_text.h"
#include "engine/resource/artifact.h"
#include "engine/resource/text_artifact_step.h"
#include "resources/sysctl/config_files.h"
#include "resources/sysctl/validation.h"

namespace sparkplan::sysctl {
namespace {

constexpr std::string_view kParameterKind = "kernel_parameter";
constexpr std::uint32_t kFileMode = 0644;

ArtifactId parameter_artifact(const Key& key) { return {std::string(kParameterKind), key.path}; }

Observation parameter_present(std::string value) { return Present{Value::map({{"value", std::move(value)}}), {}}; }

std::string value_of(const Observation& parameter) {
  const auto* present = std::get_if<Present>(&parameter);
  return present == nullptr ? std::string() : present->value.text_or("value", "");
}

std::filesystem::path proc_path(const Key& key) { return std::string(kProcSys) + key.path; }

/// A parameter that is not there, told apart: an interface that is away, or a key that this kernel
/// does not have.
Observation missing_parameter(const Key& key, const NodeReader& node) {
  if (const std::optional<std::string> interface = interface_of(key)) {
    const std::filesystem::path folder = proc_path(key).parent_path();
    const Result<FileStatus> status = node.status(folder);
    if (!status && status.error().code == ErrorCode::kNotFound) {
      return NotApplicable{"there is no interface " + *interface + " now; the value is set when it appears"};
    }
    if (!status) return status.error();
  }
  return Error{ErrorCode::kNotFound,
               "this kernel has no parameter " + dotted(key),
               {},
               {},
               "is its module loaded? In a container or network namespace some parameters exist on the host only"};
}

Observation read_parameter(const Key& key, const NodeReader& node) {
  if (!node.live()) return NotApplicable{"no kernel is running there"};
  Result<std::string> text = node.read_file(proc_path(key));
  if (text) return parameter_present(canonical_value(*text));
  Error error = std::move(text).error();
  if (error.code == ErrorCode::kNotFound) return missing_parameter(key, node);
  if (error.hint.empty()) error.hint = "only parameters that can be read back can be managed";
  return std::move(error).within("kernel parameter " + dotted(key));
}

/// What our own file says now; keys in any spelling.
std::map<std::string, std::string> own_values(const Observation& file) {
  std::map<std::string, std::string> values;
  for (const Line& line : parse_file(content_of(file).value_or(""))) {
    if (line.value) values[line.path] = *line.value;
  }
  return values;
}

/// A canonical value as people write it: whole MiB with their unit, other numbers as numbers.
Value as_written(const std::string& text) {
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  Value value = number_or_text(text);
  const std::int64_t* number = value.integer();
  if (number == nullptr || *number < kMebibyte || *number % kMebibyte != 0) return value;
  return std::to_string(*number / kMebibyte) + "MiB";
}

class SysctlType final : public ResourceType {
 public:
  explicit SysctlType(std::string schema_json) {
    info_.name = "sysctl";
    info_.section = "sysctl";
    info_.phase = Phase::kKernelParameters;
    info_.summary = "kernel parameters, running and at boot";
    info_.schema_json = std::move(schema_json);
    info_.files = {std::string(kOwnFile)};
    info_.reported.resource = Shape::map({{"persistent", Shape::text()}, {"running", Shape::text()}});
    info_.reported.artifacts = {{std::string(kParameterKind), Shape::map({{"value", Shape::text(), true}})}};
  }

  const TypeInfo& info() const override { return info_; }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    if (section.entries() == nullptr) return result;
    for (const MapEntry& entry : *section.entries()) {
      const Result<Key> key = parse_key(entry.key);
      if (!key || entry.value.is_null()) continue;  // validate() has spoken.
      const Result<std::string> value = resolve_value(entry.value);
      if (!value) continue;
      Resource resource;
      resource.id = {info_.name, dotted(*key)};
      resource.desired = Value::map({{"persistent", *value}, {"running", *value}});
      resource.where = entry.value.where;
      resource.reversible = reversible_of(*key);
      result.resources.push_back(std::move(resource));
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const std::map<std::string, Value>& applied,
                                    const Facts& /*own*/) const override {
    Value section = Value::map();
    for (const auto& [name, value] : applied) {
      const Value* text = value.find("persistent");
      if (text == nullptr || text->string() == nullptr) return std::nullopt;
      section.set(name, as_written(*text->string()));
    }
    return section;
  }

  std::vector<Diagnostic> validate(const Value& section) const override { return validate_section(section); }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const ArtifactId own_file = file_artifact(kOwnFile);
    const Observation& file = observed.artifacts[own_file] = read_artifact_of(own_file, node);
    const Result<std::vector<ConfigFile>> later = later_config_files(node);
    const std::map<std::string, std::string> persistent = own_values(file);
    for (const std::string& name : request.names) {
      const Result<Key> key = parse_key(name);
      if (!key) {
        if (name != kWholeFileName) observed.resources[name] = key.error();
        continue;
      }
      const Observation running = read_parameter(*key, node);
      if (!std::holds_alternative<NotApplicable>(running)) observed.artifacts[parameter_artifact(*key)] = running;
      if (const auto* error = std::get_if<Error>(&file)) {
        observed.resources[name] = *error;
      } else if (!later) {
        observed.resources[name] = later.error();
      } else {
        observed.resources[name] = combine(*key, persistent, running);
        if (auto claim = foreign_claim(name, *key, persistent, *later)) observed.foreign.push_back(*std::move(claim));
      }
    }
    return observed;
  }

  std::vector<Step> steps(const StepsInput& input) const override {
    std::map<Key, std::string> lines;
    std::map<std::string, std::string> running;
    for (const Resource& resource : input.target) {
      const Result<Key> key = parse_key(resource.id.name);
      if (!key) continue;
      if (resource.desired.find("persistent") != nullptr) lines[*key] = resource.desired.text_or("persistent", "");
      if (resource.desired.find("running") != nullptr) running[key->path] = resource.desired.text_or("running", "");
    }
    std::vector<Step> steps;
    for (const auto& [key, id] : changed_keys(input)) {
      if (auto step = parameter_step(key, id, running, input)) steps.push_back(*std::move(step));
    }
    std::optional<std::string> content;
    if (!lines.empty()) content = render_file(lines);
    if (auto step = text_artifact_step(file_artifact(kOwnFile), content, kFileMode, input, info_)) {
      steps.push_back(*std::move(step));
    }
    return steps;
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    const Result<Key> key = key_of(artifact);
    if (!key) return key.error();
    return read_parameter(*key, node);
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    SPARK_TRY(const Key key, key_of(artifact));
    if (!std::holds_alternative<Present>(after)) {
      return failure(ErrorCode::kBug, "a kernel parameter cannot be taken away: " + dotted(key));
    }
    const std::string wanted = value_of(after);
    // The newline makes an empty value a write of one byte; a write of none would change nothing.
    if (Result<void> written = node.write_kernel_file(proc_path(key), wanted + "\n"); !written) {
      Error error = std::move(written).error();
      if (error.hint.empty()) {
        error.hint = "the kernel refuses values outside its bounds, and in a container parameters of the host";
      }
      return failure(std::move(error).within("set " + dotted(key) + " to " + wanted));
    }
    SPARK_TRY(const std::string text, node.read_file(proc_path(key)));
    if (canonical_value(text) == wanted) return {};
    return failure(ErrorCode::kVerifyFailed,
                   dotted(key) + " shows " + canonical_value(text) + " after " + wanted + " was written",
                   "write the value as the kernel shows it, within the kernel's bounds");
  }

 private:
  /// Parameters of the changes with their ids, in the order to set them.
  static std::vector<std::pair<Key, ResourceId>> changed_keys(const StepsInput& input) {
    std::vector<std::pair<Key, ResourceId>> keys;
    for (const Change& change : input.changes) {
      const Result<Key> key = parse_key(change.id.name);
      if (key) keys.emplace_back(*key, change.id);
    }
    std::sort(keys.begin(), keys.end(), [](const auto& a, const auto& b) { return set_before(a.first, b.first); });
    return keys;
  }

  /// Sets the running value; for a parameter that is no longer wanted, the one from before
  /// sparkplan came, which is known only if sparkplan has ever set it.
  std::optional<Step> parameter_step(const Key& key, const ResourceId& id,
                                     const std::map<std::string, std::string>& running, const StepsInput& input) const {
    const ArtifactId artifact = parameter_artifact(key);
    const auto observed = input.observed.artifacts.find(artifact);
    if (observed == input.observed.artifacts.end() || !std::holds_alternative<Present>(observed->second)) {
      return std::nullopt;
    }
    Observation after;
    if (const auto wanted = running.find(key.path); wanted != running.end()) {
      after = parameter_present(wanted->second);
    } else if (const auto original = input.originals.find(artifact); original != input.originals.end()) {
      after = original->second;
    }
    if (!std::holds_alternative<Present>(after) || same_state(observed->second, after)) return std::nullopt;
    Step step;
    step.type = info_.name;
    step.artifact = artifact;
    step.phase = info_.phase;
    step.before = observed->second;
    step.after = std::move(after);
    step.resources = {id};
    step.group = info_.name;
    return step;
  }

  static Result<Key> key_of(const ArtifactId& artifact) {
    if (artifact.kind != kParameterKind) {
      return failure(ErrorCode::kBug, "sysctl has no artifacts of kind " + artifact.kind);
    }
    return parse_key(artifact.name);
  }

  Observation read_artifact_of(const ArtifactId& artifact, const NodeReader& node) const {
    return sparkplan::read_artifact(artifact, *this, node);
  }

  static Observation combine(const Key& key, const std::map<std::string, std::string>& persistent,
                             const Observation& running) {
    if (const auto* error = std::get_if<Error>(&running)) return *error;
    Present present{Value::map(), {}};
    if (const auto line = persistent.find(key.path); line != persistent.end()) {
      present.value.set("persistent", line->second);
    }
    if (const auto* reason = std::get_if<NotApplicable>(&running)) {
      present.not_applicable["running"] = reason->reason;
    } else {
      present.value.set("running", value_of(running));
    }
    return present;
  }

  /// A file that says what ours says defeats nothing.
  std::optional<ForeignClaim> foreign_claim(const std::string& name, const Key& key,
                                            const std::map<std::string, std::string>& persistent,
                                            const std::vector<ConfigFile>& later) const {
    const std::optional<Override> found = overriding(key, later);
    if (!found) return std::nullopt;
    const auto ours = persistent.find(key.path);
    if (ours != persistent.end() && found->value == ours->second) return std::nullopt;
    ForeignClaim claim{{info_.name, name}, "persistent", Value(), found->source, "keeps it from being set at boot"};
    if (found->value) {
      claim.value = *found->value;
      claim.message = "sets it to " + *found->value + " and wins at boot";
    }
    return claim;
  }

  TypeInfo info_;
};

}  // namespace

std::unique_ptr<const ResourceType> make_resource_type(std::string schema_json) {
  return std::make_unique<const SysctlType>(std::move(schema_json));
}

}  // namespace sparkplan::sysctl
