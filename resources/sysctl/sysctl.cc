#include "resources/sysctl/sysctl.h"

#include <algorithm>
#include <utility>

#include "engine/core/number_format.h"
#include "engine/core/tree.h"
#include "engine/resource/artifact.h"
#include "engine/resource/steps.h"

namespace sparkplan::sysctl {
namespace {

constexpr std::string_view kParameterKind = "kernel_parameter";
constexpr std::uint32_t kFileMode = 0644;

ArtifactId parameter_artifact(const Key& key) { return {std::string(kParameterKind), key.path}; }

Observation parameter_present(std::string value) { return Present{Value::map({{"value", std::move(value)}}), {}}; }

std::string value_of(const Observation& parameter) { return present_value(parameter).text_or("value", ""); }

std::filesystem::path proc_path(const Key& key) { return std::string(kProcSys) + key.path; }

/// Distinguishes a missing interface (not applicable) from a key that this kernel does not have (an error).
Observation missing_parameter(const Key& key, const NodeReader& node) {
  if (const std::optional<std::string> interface = interface_of(key)) {
    const auto there = node.is_there(proc_path(key).parent_path());
    if (!there) return there.error();
    if (!*there) return NotApplicable{"there is no interface " + *interface + " now; the value is set when it appears"};
  }
  return make_error(
      ErrorCode::kNotFound, "this kernel has no parameter " + dotted(key),
      "check that its module is loaded; in containers and network namespaces some parameters do not exist");
}

Observation read_parameter(const Key& key, const NodeReader& node) {
  if (!node.live()) return NotApplicable{"no kernel is running there"};
  Result<std::string> text = node.read_file(proc_path(key));
  if (text) return parameter_present(canonical_value(*text));
  Error error = std::move(text).error();
  if (error.code == ErrorCode::kNotFound) return missing_parameter(key, node);
  if (error.hint.empty()) error.hint = "sparkplan manages only parameters that it can read back";
  return std::move(error).within("kernel parameter " + dotted(key));
}

/// The values in our own file by Key::path; the file may spell its keys in any way.
std::map<std::string, std::string> own_values(const Observation& file) {
  std::map<std::string, std::string> values;
  for (const Line& line : parse_file(content_of(file).value_or(""))) {
    if (line.value) values[line.path] = *line.value;
  }
  return values;
}

/// A canonical value as users write it: whole MiB with their unit, other numbers as numbers.
Value as_written(const std::string& text) {
  constexpr std::int64_t kMebibyte = std::int64_t{1} << 20;
  Value value = number_or_text(text);
  const std::int64_t* number = value.integer();
  if (number == nullptr || *number < kMebibyte || *number % kMebibyte != 0) return value;
  return std::to_string(*number / kMebibyte) + "MiB";
}

class SysctlType final : public ResourceType {
 public:
  SysctlType() {
    info_.name = "sysctl";
    info_.section = "sysctl";
    info_.phase = Phase::kKernelParameters;
    info_.summary = "kernel parameters, running and at boot";
    info_.files = {std::string(kOwnFile)};
    info_.foresees = true;
    info_.reported.resource = Shape::map({{"persistent", Shape::text()}, {"running", Shape::text()}});
    info_.reported.artifacts = {{std::string(kParameterKind), Shape::map({{"value", Shape::text(), true}})}};
  }

  Desired desired(const ClusterView& /*view*/, const Value& section, const Facts& /*own*/) const override {
    Desired result;
    for (const MapEntry& entry : entries_of(section)) {
      const Result<Key> key = parse_key(entry.key);
      if (!key || entry.value.is_null()) continue;  // validate() reports it.
      const Result<std::string> value = resolve_value(entry.value);
      if (!value) continue;
      Value both = Value::map({{"persistent", *value}, {"running", *value}});
      result.resources.push_back(make_resource(dotted(*key), std::move(both), entry.value.where));
      result.resources.back().reversible = reversible_of(*key);
    }
    return result;
  }

  std::optional<Value> section_from(const ClusterView& /*view*/, const ValuesByName& applied,
                                    const Facts& /*own*/) const override {
    Value::Map section;  // Value::set() would search for each name among thousands.
    for (const auto& [name, value] : applied) {
      const auto text = text_below(value, "persistent");
      if (!text) return std::nullopt;
      section.push_back(MapEntry{name, as_written(*text)});
    }
    return Value(std::move(section));
  }

  std::vector<Diagnostic> validate(const Value& section) const override { return validate_section(section); }

  ObservedType observe(const ObserveRequest& request, const NodeReader& node) const override {
    ObservedType observed;
    const ArtifactId own_file = file_artifact(kOwnFile);
    const Observation& file = observed.artifacts[own_file] = sparkplan::read_artifact(own_file, *this, node);
    const Result<std::vector<ConfigFile>> later = later_config_files(node);
    const std::map<std::string, std::string> persistent = own_values(file);
    for (const std::string& name : request.names) {
      const Result<Key> key = parse_key(name);
      if (!key) {
        observed.resources[name] = key.error();
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
    for (const auto& [key, id] : changed_keys(input)) append(steps, parameter_step(key, id, running, input));
    std::optional<std::string> content;
    if (!lines.empty()) content = render_file(lines);
    append(steps, text_artifact_step(file_artifact(kOwnFile), content, kFileMode, input, info_));
    return steps;
  }

  std::vector<Ineffective> foresee(const ChangesAhead& ahead, const NodeReader& node) const override {
    return values_to_be_refused(ahead, node);
  }

  Observation read_artifact(const ArtifactId& artifact, const NodeReader& node) const override {
    const Result<Key> key = key_of(artifact);
    if (!key) return key.error();
    return read_parameter(*key, node);
  }

  Result<void> apply(const ArtifactId& artifact, const Observation& after, Node& node) const override {
    SPARK_TRY(const Key key, key_of(artifact));
    if (!std::holds_alternative<Present>(after)) {
      return failure(ErrorCode::kBug, "a kernel parameter cannot be removed: " + dotted(key));
    }
    const std::string wanted = value_of(after);
    // With the newline, an empty value is a write of one byte; a write of no byte would change nothing.
    if (Result<void> written = node.write_kernel_file(proc_path(key), wanted + "\n"); !written) {
      Error error = std::move(written).error();
      if (error.hint.empty()) {
        error.hint = "the kernel refuses values outside its bounds and, in a container, parameters of the host";
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
  /// The parameters of the changes with their ids, in the order of setting.
  static std::vector<std::pair<Key, ResourceId>> changed_keys(const StepsInput& input) {
    std::vector<std::pair<Key, ResourceId>> keys;
    for (const Change& change : input.changes) {
      const Result<Key> key = parse_key(change.id.name);
      if (key) keys.emplace_back(*key, change.id);
    }
    std::ranges::sort(keys, [](const auto& a, const auto& b) { return set_before(a.first, b.first); });
    return keys;
  }

  /// Sets the running value. A parameter that is no longer desired gets its value from before sparkplan, which is known
  /// only if sparkplan has set it.
  std::optional<Step> parameter_step(const Key& key, const ResourceId& id,
                                     const std::map<std::string, std::string>& running, const StepsInput& input) const {
    std::optional<Observation> after;
    if (const auto wanted = running.find(key.path); wanted != running.end()) after = parameter_present(wanted->second);
    return own_step(parameter_artifact(key), std::move(after), id, input, info_);
  }

  static Result<Key> key_of(const ArtifactId& artifact) {
    if (artifact.kind != kParameterKind) {
      return failure(ErrorCode::kBug, "sysctl has no artifacts of kind " + artifact.kind);
    }
    return parse_key(artifact.name);
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

  /// A file with the same value as ours overrides nothing.
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
      claim.message = "sets it to " + *found->value + " and overrides ours at boot";
    }
    return claim;
  }
};

}  // namespace

std::unique_ptr<ResourceType> make_resource_type() { return std::make_unique<SysctlType>(); }

}  // namespace sparkplan::sysctl
